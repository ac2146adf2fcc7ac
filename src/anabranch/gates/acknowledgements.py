"""Acknowledgements of red gates, with which a small replay may continue. Each is an audit record."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from anabranch.gates.gate import Judgement
from anabranch.runs.audit import AuditRecord
from anabranch.runs.canonical import instant, instant_text
from anabranch.runs.store import RunReader, RunWriter

ACTION = "gate.acknowledge"


@dataclass(frozen=True)
class Acknowledgement:
    gate: str
    by: str
    reason: str
    at: datetime
    words: str
    """The gate's words when it was acknowledged."""
    automatic: bool
    """Whether the context acknowledged it instead of a person."""

    def document(self) -> dict[str, Any]:
        return {**asdict(self), "at": instant_text(self.at)}


def record_acknowledgement(
    writer: RunWriter,
    gates: Iterable[Judgement],
    reason: str,
    *,
    by: str,
    contract: str,
    run_id: str | None,
    automatic: bool,
) -> Mapping[str, Acknowledgement]:
    """Record these red gates as acknowledged: for one run, or without one for every run of this contract."""
    red = {each.gate: each.words for each in gates}
    details = {"red": red, "reason": reason, "contract": contract, "automatic": automatic}
    return _read(writer.record_act(ACTION, actor=by, run_id=run_id, details=details))


def acknowledgements_of(reader: RunReader, *, run_id: str | None, contract: str) -> Mapping[str, Acknowledgement]:
    """By gate, the last one for this run or its contract."""
    return fold_acknowledgements(reader.audit(action=ACTION), run_id=run_id, contract=contract)


def fold_acknowledgements(
    records: Iterable[AuditRecord], *, run_id: str | None, contract: str
) -> Mapping[str, Acknowledgement]:
    """From records in the order of the chain. Those for other runs of the same contract are skipped."""
    found: dict[str, Acknowledgement] = {}
    for record in records:
        if record.run_id in (None, run_id) and json.loads(record.details)["contract"] == contract:
            found.update(_read(record))
    return found


def _read(record: AuditRecord) -> dict[str, Acknowledgement]:
    details = json.loads(record.details)
    return {
        gate: Acknowledgement(
            gate, record.actor, details["reason"], instant(record.at), words, bool(details["automatic"])
        )
        for gate, words in details["red"].items()
    }
