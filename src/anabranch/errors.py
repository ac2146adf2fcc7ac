"""The one family of errors: what happened, what is untouched, and what to do next."""

from __future__ import annotations

from enum import IntEnum
from typing import ClassVar


class ExitCode(IntEnum):
    """What a script may rely on. Documented in docs/exit-codes.md and frozen by a test."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    REFUSED = 3
    """A gate, a validation, a role or the rollback horizon said no, or a confirmation is missing."""
    CONFLICT = 4
    """The plan is stale, or somebody else holds what was asked for."""
    GUARDED = 5
    """A guard stopped the work to protect live traffic, the budget or the data."""
    TIMED_OUT = 6
    INTERRUPTED = 130


class AnabranchError(Exception):
    """Anything a user may meet. Never shown as a traceback unless `--debug` is given.

    A subclass fixes `code` (stable, for scripts and for searching the docs) and `exit_code`.
    The instance says the rest: `what` happened in one sentence, what is `untouched`, the `next_step`
    (a command wherever there is one), and the `fields` that a machine would want.
    The cause, where there is one, travels as `__cause__` (`raise … from error`).
    """

    code: ClassVar[str] = "failed"
    exit_code: ClassVar[ExitCode] = ExitCode.FAILED

    def __init__(self, what: str, *, untouched: str, next_step: str, **fields: object) -> None:
        super().__init__(what)
        self.what = what
        self.untouched = untouched
        self.next_step = next_step
        self.fields = fields

    @property
    def cause(self) -> str | None:
        """The reason underneath, in the words of whoever raised it."""
        return None if self.__cause__ is None else f"{type(self.__cause__).__name__}: {text_of(self.__cause__)}"

    def as_dict(self) -> dict[str, object]:
        """The error as data, for `-o json`."""
        return {
            "code": self.code,
            "exit_code": int(self.exit_code),
            "what": self.what,
            "cause": self.cause,
            "untouched": self.untouched,
            "next": self.next_step,
            "fields": self.fields,
        }


def text_of(error: BaseException) -> str:
    """What an exception says. Spark's ask the JVM for their text, and that one may be gone."""
    try:
        return str(error)
    except Exception:
        return "(its text is lost: it was in a JVM that ended)"


NOTHING_TOUCHED = "Nothing was changed."
