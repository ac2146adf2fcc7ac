"""Which command is under way, and which one shows what it did: for an exception that no code foresaw."""

from __future__ import annotations

import sys

from anabranch.errors import AnabranchError, text_of

ONLY_READ = frozenset({"check", "describe", "list", "log", "plan", "schema", "status"})
"""Commands that change no run, table or topic, however they end."""

JVM = "anabranch.adapters.spark.session.jvm"
_NOT_NOTED = ("", "anabranch list --all")
_command, _look = _NOT_NOTED


class UnexpectedError(AnabranchError):
    """A fault of ours, not of the user's."""

    code = "unexpected"


def reset() -> None:
    global _command, _look
    _command, _look = _NOT_NOTED


def note_command(name: str) -> None:
    """The command's name, the first word after `anabranch`."""
    global _command
    _command = name


def note_look(command: str) -> None:
    """The command that shows the state of what is being changed, once it is known: `anabranch status RUN`."""
    global _look
    _look = command


def internal_error(fault: Exception) -> UnexpectedError:
    """Claims only what holds wherever the exception came from."""
    what = f"Internal error: {type(fault).__name__}: {text_of(fault)}".rstrip(".: ") + "."
    if _command in ONLY_READ:
        return UnexpectedError(
            what,
            state=f"`anabranch {_command}` changes no run, table or topic.",
            hint=f"anabranch --debug {_command} … shows the traceback; report it",
        )
    return UnexpectedError(
        what,
        state=_unknown(),
        hint=f"{_look}; `anabranch --debug {_command} …` shows the traceback of a retry",
    )


def jvm_death(fault: Exception) -> AnabranchError | None:
    """The error to report where Spark's JVM died and the command itself did not say so."""
    if JVM not in sys.modules:
        return None  # no Spark was started
    from anabranch.adapters.spark.session.jvm import JvmDiedError, death

    return None if isinstance(fault, JvmDiedError) else death(fault, _unknown(), _look)


def _unknown() -> str:
    return f"Unknown: run `{_look}` before you retry."
