"""The current command, and the command that shows its effect: for errors that no code handles."""

from __future__ import annotations

import sys

from anabranch.errors import AnabranchError, text_of

ONLY_READ = frozenset({"check", "describe", "list", "log", "plan", "schema", "status"})
"""Commands that change no run, table or topic, whatever their outcome."""

JVM = "anabranch.adapters.spark.session.jvm"
_UNKNOWN = ("", "anabranch list --all")
_command, _status_command = _UNKNOWN


class UnexpectedError(AnabranchError):
    """An internal error."""

    code = "unexpected"


def reset() -> None:
    global _command, _status_command
    _command, _status_command = _UNKNOWN


def note_command(name: str) -> None:
    """Remember the command's name, the first word after `anabranch`."""
    global _command
    _command = name


def note_status_command(command: str) -> None:
    """Remember the command that shows the state of what is changed, such as `anabranch status RUN`."""
    global _status_command
    _status_command = command


def internal_error(fault: Exception) -> UnexpectedError:
    """The error for an unexpected exception. Its state claims only what holds wherever it was raised."""
    what = f"Internal error: {type(fault).__name__}: {text_of(fault)}".rstrip(".: ") + "."
    if _command in ONLY_READ:
        return UnexpectedError(
            what,
            state=f"`anabranch {_command}` changes no run, table or topic.",
            hint=f"report it with the traceback, which `anabranch --debug {_command} …` shows",
        )
    return UnexpectedError(
        what,
        state=_unknown(),
        command=_status_command,
        hint=f"`anabranch --debug {_command} …` shows the traceback of a retry",
    )


def jvm_death(fault: Exception) -> AnabranchError | None:
    """The error to report if Spark's JVM died and `fault` does not say so; otherwise None."""
    if JVM not in sys.modules:
        return None  # no Spark was started
    from anabranch.adapters.spark.session.jvm import JvmDiedError, death

    return None if isinstance(fault, JvmDiedError) else death(fault, _unknown(), _status_command)


def _unknown() -> str:
    return f"Unknown: run `{_status_command}` before you retry."
