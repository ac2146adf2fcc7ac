"""Measures and records the evidence of gates: which evidence is due, and where the range is sampled."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from anabranch.contract.backfill import Backfill
from anabranch.contract.code import reading_digest
from anabranch.contract.json_values import ValueCheck
from anabranch.contract.pipeline import Pipeline
from anabranch.errors import AnabranchError
from anabranch.gates import binding
from anabranch.gates.binding import Binding
from anabranch.gates.checks import capacity, compatibility, cost, rollback, schema, storage_path
from anabranch.gates.checks.schema import BadRecord
from anabranch.gates.evidence import ACTION, Evidence, keep_evidence, read_evidence
from anabranch.gates.impact import measured as impact
from anabranch.gates.ports import GateProbes, TableIdentity
from anabranch.plan.plan import Plan
from anabranch.plan.slices import Offsets, Ranges, share_of
from anabranch.runs.run_lease import RunStore

PLACES = 8
"""Sampled places per partition, evenly spread over its ranges."""
RECORDS = 25
"""Records per partition and place."""
READS = (storage_path.KIND, schema.KIND)
"""Evidence that is measured by reading a few records only."""
ROLLBACK = (rollback.KIND,)
MEASURED = (compatibility.KIND, *READS, *ROLLBACK)
"""Evidence that the gates measure themselves."""
BOUND = (*MEASURED, capacity.KIND, impact.KIND, cost.KIND)
"""All evidence that gates rest on: rehearsal, effect on live and estimate are measured by commands of their own."""
PROGRESS = {
    compatibility.KIND: "Trying each operation on the cluster …",
    storage_path.KIND: "Reading from the start of the range …",
    schema.KIND: "Decoding a sample of the range …",
    rollback.KIND: "Rehearsing promotion and rollback on a scratch branch …",
}


def due_evidence(kinds: Collection[str], known: Mapping[str, Evidence], now: datetime) -> tuple[str, ...]:
    """The kinds without valid evidence: never measured, expired, or refused at the last attempt."""
    return tuple(
        kind
        for kind in kinds
        if kind not in known or not known[kind].counts(now) or known[kind].found.get("refused") is not None
    )


def sample_places(ranges: Ranges, count: int = PLACES) -> list[Offsets]:
    """Where to sample: the first interval of each of `count` equal parts of every partition's ranges.

    A partition with fewer offsets than parts is omitted from the parts without an offset.
    """
    parts = [{p: share_of(each, number, count) for p, each in ranges.items()} for number in range(count)]
    return [{p: each[0] for p, each in part.items() if each} for part in parts]


@dataclass(frozen=True)
class GateMeasures:
    """Measurements for one plan. `gates/binding.py` defines what each is bound to."""

    probes: GateProbes
    store: RunStore
    plan: Plan
    contract: Backfill
    pipeline: Pipeline
    by: str
    """The user recorded with each measurement."""
    run: str | None = None

    def known(self) -> dict[str, Evidence]:
        """The newest of each kind that is bound to this backfill, valid or expired."""
        found = {kind: self._newest(kind) for kind in BOUND}
        return {kind: evidence for kind, evidence in found.items() if evidence is not None}

    def measure(self, kind: str, now: datetime) -> Evidence:
        """Measure one of `MEASURED` and record it. A refusal is evidence too; raises KafkaUnreachableError."""
        match kind:
            case compatibility.KIND:
                probes, left = self.probes.try_cluster()
                found = compatibility.compatibility_document(
                    probes, left, user=self.probes.user, topic=self.plan.source.topic
                )
                return self._record(kind, found, now + compatibility.LIFETIME)
            case storage_path.KIND:
                return self._record(kind, self.probes.storage().document(), now + storage_path.LIFETIME)
            case schema.KIND:
                return self._record(kind, self._sample_schema(), now + schema.LIFETIME)
            case rollback.KIND:
                return self._record(kind, self._rehearse_rollback(), now + rollback.LIFETIME)
            case _:
                raise ValueError(f"evidence of kind {kind!r} is not measured by the gates")

    def _sample_schema(self) -> dict[str, Any]:
        places = sample_places(self.plan.source.ranges)
        samples = self.probes.read_places(places, ValueCheck(self.pipeline.spec).problem, RECORDS)
        tried = [each for sample in samples for records in sample.values() for each in records]
        bad = [BadRecord(each.partition, each.offset, each.flaw) for each in tried if each.flaw is not None]
        wanted = sum(map(len, places))
        return schema.schema_document(len(tried), bad, wanted, wanted - sum(map(len, samples)))

    def _rehearse_rollback(self) -> dict[str, Any]:
        name = self.run or f"gates-{self.plan.hash[:12]}"
        staged = None if self.run is None else self.probes.staged(self.run)
        try:
            return self.probes.rehearse_rollback(name, staged).document()
        except AnabranchError as refused:
            return rollback.refusal_of(refused.code, refused.what, refused.remedy)
        except Exception as error:
            # Only the type is recorded: a catalog client may quote its settings. Any failure makes the gate red.
            words = f"the catalog or the store refused it ({type(error).__name__})"
            return rollback.refusal_of("rollback.not-rehearsed", words, "let this user commit to branches of the table")

    def _record(self, kind: str, found: Mapping[str, Any], until: datetime) -> Evidence:
        bound = self._binding(kind)
        details = {**found, "about": dict(bound.about)}
        writer, run = self.store.writer, self.run
        return keep_evidence(writer, kind, bound.subject, details, by=self.by, good_until=until, run_id=run)

    def _newest(self, kind: str) -> Evidence | None:
        records = self.store.reader.audit(action=f"{ACTION}{kind}")
        if not records:
            return None  # request the cluster's id only if evidence names one
        bound = self._binding(kind)
        same = [each for each in map(read_evidence, records) if bound.holds(each)]
        return same[-1] if same else None

    def _binding(self, kind: str) -> Binding:
        plan = self.plan
        bindings: dict[str, Callable[[], Binding]] = {
            compatibility.KIND: lambda: binding.of_compatibility(plan, cluster=self._cluster, user=self.probes.user),
            storage_path.KIND: lambda: binding.of_storage(plan),
            schema.KIND: lambda: binding.of_schema(plan, reading=reading_digest(self.pipeline.spec)),
            rollback.KIND: lambda: binding.of_rollback(
                plan, table=self._table.table, schema=self._table.schema, spec=self._table.spec
            ),
            capacity.KIND: lambda: binding.of_rehearsal(plan, self.contract),
            impact.KIND: lambda: binding.of_rehearsal(plan, self.contract),
            cost.KIND: lambda: binding.of_cost(plan),
        }
        return bindings[kind]()

    @cached_property
    def _cluster(self) -> str:
        return self.probes.cluster()

    @cached_property
    def _table(self) -> TableIdentity:
        return self.probes.table()
