"""The lookup tables that a plan has pinned: which snapshot of which table, by the name a transform uses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Protocol

from anabranch.contract.backfill import LookupAsOf
from anabranch.plan.refusals import PlanRefusedError
from anabranch.plan.request import BackfillRequest
from anabranch.project.quantities import format_moment


class LookupUnreadableError(PlanRefusedError):
    code = "lookup.unreadable"


@dataclass(frozen=True)
class LookupPin:
    table: str
    snapshot: int


Pins = Mapping[str, LookupPin]


class LookupLook(Protocol):
    def pin(self, name: str, table: str, request: LookupAsOf | None) -> LookupPin:
        """The snapshot that was asked for, or the table's head. Refuses one that is not there."""

    def is_kept(self, pin: LookupPin) -> bool:
        """Whether the table still has the snapshot."""


def pin_all(request: BackfillRequest, look: LookupLook, now: datetime) -> dict[str, LookupPin]:
    """Every lookup of the pipeline at one snapshot."""
    wanted = request.backfill.spec.lookups or {}
    for name, each in wanted.items():
        if each.as_of is not None and each.as_of > now:
            raise LookupUnreadableError(
                f"The contract asks for the lookup {name} as of {format_moment(each.as_of)}, and it is "
                f"{format_moment(now)}: nobody knows what it will hold.",
                hint=f"write a moment of the past under spec.lookups.{name}, or leave it out",
            )
    tables = request.pipeline.spec.lookups or {}
    return {name: look.pin(name, table, wanted.get(name)) for name, table in sorted(tables.items())}


def pins_document(pins: Pins) -> dict[str, Any]:
    return {name: asdict(pin) for name, pin in sorted(pins.items())}


def read_pins(document: Mapping[str, Any]) -> dict[str, LookupPin]:
    """The reverse of `pins_document`."""
    return {name: LookupPin(**pin) for name, pin in document.items()}
