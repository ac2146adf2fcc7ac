"""Gates overridden by name. An override is an audit record, and is always shown with the run."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from anabranch.runs.audit import AuditRecord
from anabranch.runs.canonical import instant, instant_text
from anabranch.runs.store import RunReader, RunWriter

ACTION = "gate.override"


@dataclass(frozen=True)
class GateOverride:
    gate: str
    by: str
    reason: str
    at: datetime
    colour: str
    words: str
    """The gate's words when it was overridden."""

    def document(self) -> dict[str, Any]:
        return {
            "gate": self.gate,
            "by": self.by,
            "reason": self.reason,
            "at": instant_text(self.at),
            "colour": self.colour,
            "words": self.words,
        }


def keep_override(
    writer: RunWriter,
    gate: str,
    reason: str,
    *,
    by: str,
    contract: str,
    run_id: str | None,
    colour: str,
    words: str,
) -> GateOverride:
    """Record it: for one run, or without one for every run of this contract."""
    details = {"gate": gate, "reason": reason, "contract": contract, "colour": colour, "words": words}
    return _read(writer.record_act(ACTION, actor=by, run_id=run_id, details=details))


def overrides_of(reader: RunReader, *, run_id: str | None, contract: str) -> Mapping[str, GateOverride]:
    """By gate, the last override for this run, or for a contract without a run."""
    return fold_overrides(reader.audit(action=ACTION), run_id=run_id, contract=contract)


def fold_overrides(records: Iterable[AuditRecord], *, run_id: str | None, contract: str) -> Mapping[str, GateOverride]:
    """From records in the order of the chain. Those for other runs of the same contract are skipped."""
    counting = [
        record
        for record in records
        if record.run_id in (None, run_id) and json.loads(record.details)["contract"] == contract
    ]
    return {override.gate: override for override in map(_read, counting)}


def _read(record: AuditRecord) -> GateOverride:
    details = json.loads(record.details)
    return GateOverride(
        details["gate"], record.actor, details["reason"], instant(record.at), details["colour"], details["words"]
    )
