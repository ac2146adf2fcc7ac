"""The report of a validation: every check's result, the buckets, the ledger, and the verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from enum import Enum
from typing import Any

from anabranch.plan.target_range import TargetPart
from anabranch.replay.ledger import Account
from anabranch.runs.canonical import instant_text
from anabranch.runs.heads import Head
from anabranch.validate.attribution import Attribution, DiffAttribution
from anabranch.validate.measures import Checksum, Differences
from anabranch.validate.result import CheckOutcome, Result

FORMAT = 1
"""Version of the JSON document, incremented by incompatible changes."""


class Verdict(str, Enum):
    ACCEPTED = "accepted"
    REJECTED = "rejected"


@dataclass(frozen=True)
class Bucket:
    """One partition of the target's time axis, before and after."""

    start: datetime
    base: Checksum
    staged: Checksum
    charge: Attribution | None = None
    """Attribution of its differences; None without a control replay."""

    @property
    def changed(self) -> bool:
        return self.base != self.staged

    @property
    def difference(self) -> int:
        return self.staged.rows - self.base.rows


@dataclass(frozen=True)
class Report:
    run: str
    pipeline: str
    table: str
    plan: str
    """Hash of the plan."""
    range: TargetPart
    base: Head
    staging: Head
    """The compared snapshots. The verdict applies to this staging snapshot only."""
    at: datetime
    results: tuple[Result, ...]
    buckets: tuple[Bucket, ...]
    """Buckets with rows before or after, in order."""
    digest: Checksum
    """Checksum of all staged rows in the range."""
    ledger: Account
    partitions: Mapping[int, Account]
    """The ledger by partition of the topic."""
    differences: Differences
    rows_before: int
    charges: DiffAttribution | None = None
    control: str | None = None
    """Digest of the control's code."""

    @property
    def bucket(self) -> str:
        """The unit of `buckets`."""
        return "table" if self.range.axis is None else self.range.axis.grain.value

    @property
    def verdict(self) -> Verdict:
        return Verdict.REJECTED if self.failed else Verdict.ACCEPTED

    @property
    def failed(self) -> tuple[Result, ...]:
        return tuple(result for result in self.results if result.outcome is CheckOutcome.FAILED)

    @property
    def warned(self) -> tuple[Result, ...]:
        return tuple(result for result in self.results if result.outcome is CheckOutcome.WARNED)

    def document(self) -> dict[str, Any]:
        """The report as plain JSON values."""
        control = {} if self.charges is None else {"control": _control(self.charges, self.control)}
        return {
            "format": FORMAT,
            "run": self.run,
            "pipeline": self.pipeline,
            "table": self.table,
            "plan": self.plan,
            "range": _range(self.range),
            "base": self.base,
            "staging": self.staging,
            "at": instant_text(self.at),
            "verdict": self.verdict.value,
            "results": [result.document() for result in self.results],
            "rows": {"before": self.rows_before, "after": self.digest.rows},
            "digest": self.digest.text,
            "buckets": [_bucket(each) for each in self.buckets],
            "ledger": asdict(self.ledger),
            "partitions": {str(p): asdict(account) for p, account in sorted(self.partitions.items())},
            "differences": {
                "paired": self.differences.paired,
                "rows": [{"before": each.before, "after": each.after} for each in self.differences.rows],
            },
            **control,
        }


def _range(part: TargetPart) -> dict[str, Any]:
    """Without start and end: the whole table. Without column: the table has no time column."""
    return {
        "column": None if part.axis is None else part.axis.column,
        "grain": None if part.axis is None else part.axis.grain.value,
        "start": None if part.start is None else instant_text(part.start),
        "end": None if part.end is None else instant_text(part.end),
    }


def _bucket(bucket: Bucket) -> dict[str, Any]:
    return {
        "start": instant_text(bucket.start),
        "before": bucket.base.rows,
        "after": bucket.staged.rows,
        "changed": bucket.changed,
        "checksum": bucket.staged.text,
        **({} if bucket.charge is None else asdict(bucket.charge)),
    }


def _control(charges: DiffAttribution, code: str | None) -> dict[str, Any]:
    """Counts are of keys, or of rows on one side only if the target has no keys."""
    return {
        "code": code,
        "snapshot": charges.control.snapshot,
        "rows": charges.control.total.rows,
        "counted": "keys" if charges.paired else "rows",
        **asdict(charges.total),
    }
