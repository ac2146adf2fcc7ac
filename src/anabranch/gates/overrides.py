"""Red gates that somebody has answered for by name. An override is an audit record: it is shown ever after."""

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
    """How the gate stood when it was overridden."""

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
    """Put it on record: for one run, or with none for every run of this very contract."""
    details = {"gate": gate, "reason": reason, "contract": contract, "colour": colour, "words": words}
    return _read(writer.record_act(ACTION, actor=by, run_id=run_id, details=details))


def overrides_of(reader: RunReader, *, run_id: str | None, contract: str) -> Mapping[str, GateOverride]:
    """What counts for a run, or for a contract that has none yet; by gate, the last word of each."""
    return fold_overrides(reader.audit(action=ACTION), run_id=run_id, contract=contract)


def fold_overrides(records: Iterable[AuditRecord], *, run_id: str | None, contract: str) -> Mapping[str, GateOverride]:
    """Of records in the order of the chain. One for another run of the same contract does not count here."""
    counting = [
        record
        for record in records
        if record.run_id in (None, run_id) and json.loads(record.details)["contract"] == contract
    ]
    return {override.gate: override for override in map(_read, counting)}


def _read(record: AuditRecord) -> GateOverride:
    said = json.loads(record.details)
    return GateOverride(said["gate"], record.actor, said["reason"], instant(record.at), said["colour"], said["words"])
