"""What can keep live from starting or going on, each with its own code."""

from __future__ import annotations

from anabranch.errors import AnabranchError, ExitCode, text_of

CONTINUES = "Every batch that was committed is in the table once; the rest is in the topic."
_CALLING = "An error occurred while calling"
"""How Py4J begins: with the name of an object of its own, which tells nobody anything. The reason comes behind it."""


def in_one_line(error: BaseException) -> str:
    """What an error that is not ours says first of its reason."""
    words = (line.strip(": ") for line in text_of(error).splitlines())
    reason = next((line for line in words if line and not line.startswith(_CALLING)), "no reason given")
    return f"{type(error).__name__}: {reason}"


class UnknownPipelineError(AnabranchError):
    code = "live.unknown-pipeline"
    exit_code = ExitCode.USAGE


class LiveBusyError(AnabranchError):
    """Another driver of the same pipeline, or what is left of it, still holds the lock."""

    code = "live.busy"
    exit_code = ExitCode.CONFLICT


class DidNotStartError(AnabranchError):
    code = "live.did-not-start"


class LiveStartTimeoutError(AnabranchError):
    code = "live.start-timeout"
    exit_code = ExitCode.TIMED_OUT


class NotPermittedError(AnabranchError):
    code = "live.not-permitted"


class TopicRecreatedError(AnabranchError):
    code = "live.topic-recreated"
    exit_code = ExitCode.CONFLICT


class OutOfStepError(AnabranchError):
    """Table and checkpoint disagree about how far live has come."""

    code = "live.out-of-step"
    exit_code = ExitCode.CONFLICT


class StateLostError(AnabranchError):
    code = "live.state-lost"
    exit_code = ExitCode.REFUSED


class StreamFailedError(AnabranchError):
    code = "live.stream-failed"


class LiveStateUnreadableError(AnabranchError):
    code = "live.state-unreadable"
