"""The lookup tables of a plan: a pinned snapshot for each, by the name that the transform uses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Protocol

from anabranch.contract.backfill import LookupAsOf
from anabranch.plan.refusals import PlanRefusedError
from anabranch.plan.request import BackfillRequest
from anabranch.project.quantities import format_moment
from anabranch.runs.heads import Head


class LookupUnreadableError(PlanRefusedError):
    code = "lookup.unreadable"


@dataclass(frozen=True)
class LookupPin:
    table: str
    snapshot: Head


Pins = Mapping[str, LookupPin]


class LookupReader(Protocol):
    def pin(self, name: str, table: str, request: LookupAsOf | None) -> LookupPin:
        """The requested snapshot, or the table's head. Raises LookupUnreadableError if it does not exist."""

    def is_retained(self, pin: LookupPin) -> bool:
        """Whether the table still has the snapshot."""


def pin_all(request: BackfillRequest, reader: LookupReader, now: datetime) -> dict[str, LookupPin]:
    """Every lookup of the pipeline at one snapshot."""
    wanted = request.backfill.spec.lookups or {}
    for name, each in wanted.items():
        if each.as_of is not None and each.as_of > now:
            raise LookupUnreadableError(
                f"The contract pins lookup {name} at {format_moment(each.as_of)}, which is in the future: now is "
                f"{format_moment(now)}.",
                hint=f"write a moment in the past under spec.lookups.{name}, or remove it",
            )
    tables = request.pipeline.spec.lookups or {}
    return {name: reader.pin(name, table, wanted.get(name)) for name, table in sorted(tables.items())}


def pins_document(pins: Pins) -> dict[str, Any]:
    return {name: asdict(pin) for name, pin in sorted(pins.items())}
