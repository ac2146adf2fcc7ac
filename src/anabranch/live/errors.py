"""Errors of live."""

from __future__ import annotations

from anabranch.errors import AnabranchError, ExitCode, text_of

CONTINUES = "Every committed batch is in the table exactly once; later records are in the topic."
_CALLING = "An error occurred while calling"
"""First line of Py4J's messages, which only names one of its objects. The reason is on the next line."""


def in_one_line(error: BaseException) -> str:
    """The type of an exception and the first line of its reason."""
    lines = (line.strip(": ") for line in text_of(error).splitlines())
    reason = next((line for line in lines if line and not line.startswith(_CALLING)), "no reason given")
    return f"{type(error).__name__}: {reason}"


class UnknownPipelineError(AnabranchError):
    code = "live.unknown-pipeline"
    exit_code = ExitCode.USAGE


class LiveBusyError(AnabranchError):
    """Another driver of the same pipeline, or its JVM, still holds the lock."""

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
    """Table and checkpoint have different positions of live."""

    code = "live.out-of-step"
    exit_code = ExitCode.CONFLICT


class StateLostError(AnabranchError):
    code = "live.state-lost"
    exit_code = ExitCode.REFUSED


class StreamFailedError(AnabranchError):
    code = "live.stream-failed"


class LiveStateUnreadableError(AnabranchError):
    code = "live.state-unreadable"
