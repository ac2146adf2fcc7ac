"""The protocol of a check: its input and its result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol

from anabranch.contract.backfill import Backfill
from anabranch.contract.pipeline import Pipeline
from anabranch.plan.plan import Plan
from anabranch.replay.ledger import SliceAccount
from anabranch.validate.measures import Difference, Measures, Row


class CheckOutcome(str, Enum):
    PASSED = "passed"
    WARNED = "warned"
    """To be reviewed; does not prevent a promotion."""
    FAILED = "failed"


@dataclass(frozen=True)
class CheckInput:
    """The input of a check."""

    measures: Measures
    plan: Plan
    contract: Backfill
    pipeline: Pipeline
    accounts: Sequence[SliceAccount]


@dataclass(frozen=True)
class Result:
    check: str
    outcome: CheckOutcome
    expected: str
    found: str
    sample: tuple[Row, ...] = ()
    pairs: tuple[Difference, ...] = ()
    """Rows to be shown side by side under the headings `sides`."""
    sides: tuple[str, str] = ("before", "after")

    def document(self) -> dict[str, Any]:
        document: dict[str, Any] = {
            "check": self.check,
            "outcome": self.outcome.value,
            "expected": self.expected,
            "found": self.found,
            "sample": [dict(row) for row in self.sample],
        }
        if self.pairs:
            before, after = self.sides
            document["pairs"] = [{before: pair.before, after: pair.after} for pair in self.pairs]
        return document


class Check(Protocol):
    def __call__(self, evidence: CheckInput, /) -> Sequence[Result]:
        """One result for each requirement; none if it does not apply. Pure."""


def passed_if(good: bool) -> CheckOutcome:
    return CheckOutcome.PASSED if good else CheckOutcome.FAILED


def counted(number: int, one: str, many: str | None = None) -> str:
    """`1 row`, `2,000 rows`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
