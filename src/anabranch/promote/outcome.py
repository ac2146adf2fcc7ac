"""Errors of a commit to production whose effect is unknown, or that could not be recorded."""

from __future__ import annotations

from typing import ClassVar

from anabranch.errors import AnabranchError, ExitCode
from anabranch.runs.heads import Head


class OutcomeUnknownError(AnabranchError):
    """The commit was sent, and neither the response nor the table's history confirmed it. Production may have it."""

    code = "promote.outcome-unknown"
    exit_code: ClassVar[ExitCode] = ExitCode.FAILED

    def __init__(self, step: str, commit: str, table: str, run: str) -> None:
        super().__init__(
            f"The outcome of {step} commit {commit} on {table} is unknown: the catalog did not confirm it.",
            state=f"Unknown: {table} has all of the commit or nothing of it. The next command looks the commit up "
            "by its id; it takes effect at most once.",
            command=f"anabranch {step} {run}",
            run=run,
            table=table,
            commit=commit,
        )

    @property
    def cause(self) -> str | None:
        """Only the exception's type: a catalog client may quote its settings."""
        return None if self.__cause__ is None else type(self.__cause__).__name__


class CommitUnrecordedError(AnabranchError):
    """Production has the commit; the control database has not recorded it."""

    code = "promote.unrecorded"

    def __init__(self, step: str, snapshot: Head, table: str, run: str) -> None:
        super().__init__(
            f"The {step} commit is in {table} (snapshot {snapshot}), but the control database did not record it.",
            state=f"{table} has the {step} commit. The next command finds the commit by its id and records it.",
            command=f"anabranch {step} {run}",
            run=run,
            table=table,
            snapshot=snapshot,
        )
