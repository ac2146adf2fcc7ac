"""The base class of all errors that a user can meet, and the exit codes."""

from __future__ import annotations

from enum import IntEnum
from typing import ClassVar


class ExitCode(IntEnum):
    """What a script may rely on. Documented in docs/exit-codes.md and frozen by a test."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    REFUSED = 3
    """A gate, a validation, a role or the rollback horizon refused, or a confirmation is missing."""
    CONFLICT = 4
    """The plan is stale, or another run or process holds the resource."""
    GUARDED = 5
    """A guard stopped the work to protect live traffic, the budget or the data."""
    TIMED_OUT = 6
    INTERRUPTED = 130


class AnabranchError(Exception):
    """An error that a user can meet. Shown as a traceback only with `--debug`.

    A subclass fixes `code` (stable: scripts match it, docs list it) and `exit_code`. An instance has four parts:

    - `what` failed, with values;
    - the cause, which is `__cause__` (`raise … from error`);
    - the `state` of production, staging and the run now, as far as it is known;
    - what to do: a `command` that can be pasted, a `hint` in words, or both. One of them is required.

    `fields` are the values for programs.
    """

    code: ClassVar[str] = "failed"
    exit_code: ClassVar[ExitCode] = ExitCode.FAILED

    def __init__(
        self, what: str, *, state: str, command: str | None = None, hint: str | None = None, **fields: object
    ) -> None:
        super().__init__(what)
        if command is None and hint is None:
            raise TypeError(f"{type(self).__name__} needs a command or a hint")
        self.what = what
        self.state = state
        self.command = command
        self.hint = hint
        self.fields = fields

    @property
    def cause(self) -> str | None:
        """Type and text of the exception that caused this one."""
        return None if self.__cause__ is None else f"{type(self.__cause__).__name__}: {text_of(self.__cause__)}"

    @property
    def remedy(self) -> str:
        """Hint and command on one line, for output that has only one."""
        command = None if self.command is None else f"`{self.command}`"
        return ": ".join(part for part in (self.hint, command) if part) if self.hint else str(self.command)

    def as_dict(self) -> dict[str, object]:
        """The error as data, for `-o json`."""
        return {
            "code": self.code,
            "exit_code": int(self.exit_code),
            "what": self.what,
            "cause": self.cause,
            "state": self.state,
            "command": self.command,
            "hint": self.hint,
            "fields": self.fields,
        }


def text_of(error: BaseException) -> str:
    """The text of an exception. Spark's exceptions ask the JVM for theirs, and fail if it has ended."""
    try:
        return str(error)
    except Exception:
        return "(text unavailable: the JVM that held it has ended)"


NOTHING_CHANGED = "Nothing was changed."
