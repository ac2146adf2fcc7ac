"""What the gates do around their judgements: measure what is due, clear or refuse a replay, record what passes red."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from tests.unit.gates.facts import NOW, ROLLBACK, STORAGE, good_facts

from anabranch.adapters.sql.store import SqlRunStore, open_store
from anabranch.errors import AnabranchError
from anabranch.gates.checks.compatibility import Operation, Probe, ProbeOutcome
from anabranch.gates.checks.rollback import RehearsedRollback
from anabranch.gates.checks.storage_path import StoragePath
from anabranch.gates.cleared import ClearedPlan
from anabranch.gates.collect import GatePolicy, GateService, GateUnknownError
from anabranch.gates.colour import Colour
from anabranch.gates.facts import ClosingReading, GateFacts, LiveReading, MetricsReading, RetentionReading
from anabranch.gates.measure import MEASURED, READS
from anabranch.gates.measure import ROLLBACK as ROLLBACK_KIND
from anabranch.gates.ports import SampledRecord, TableIdentity
from anabranch.gates.scorecard import GateClosedError
from anabranch.gates.stakes import DRILL_LABEL
from anabranch.plan.drift import ObservedInputs
from anabranch.plan.quotas import QuotaForecast
from anabranch.plan.slices import Offsets
from anabranch.project.sections.approval import RoleSettings
from anabranch.project.sections.gates import HighVolume
from anabranch.runs.heads import Head


@dataclass
class World:
    """The outside world as plain values: an observer and probes over the facts of a good backfill."""

    facts: GateFacts
    measured: list[str] = field(default_factory=list)
    refusal: Exception | None = None

    def require_answer(self) -> None: ...

    def inputs(self) -> ObservedInputs:
        raise AssertionError("a contract without a run has nothing to drift from")

    def live(self) -> LiveReading:
        return self.facts.live

    def retention(self) -> RetentionReading | None:
        return None

    def closing(self) -> ClosingReading:
        return self.facts.closing

    def residency(self) -> str | None:
        return self.facts.residency

    def metrics(self) -> MetricsReading:
        return self.facts.metrics

    def quota(self, bytes_per_second: int | None) -> QuotaForecast:
        return QuotaForecast(enabled=False)

    def reaches(self) -> tuple[str, ...] | None:
        return self.facts.reaches

    @property
    def user(self) -> str:
        return "replayer"

    def cluster(self) -> str:
        return "cluster-1"

    def table(self) -> TableIdentity:
        return TableIdentity("uuid", "schema", 0)

    def try_cluster(self) -> tuple[Sequence[Probe], Iterable[str]]:
        self.measured.append("compatibility")
        return [Probe(each, ProbeOutcome.WORKS) for each in Operation], ()

    def storage(self) -> StoragePath:
        self.measured.append("storage")
        return STORAGE

    def read_places(
        self, places: Sequence[Offsets], flaw: Callable[[bytes | None], str | None], most: int
    ) -> Sequence[Mapping[int, tuple[SampledRecord, ...]]]:
        self.measured.append("schema")
        return [{p: (SampledRecord(p, start, None),) for p, (start, _) in place.items()} for place in places]

    def staged(self, run: str) -> Head | None:
        raise AssertionError("a contract without a run has staged nothing")

    def rehearse_rollback(self, name: str, staged: Head | None) -> RehearsedRollback:
        assert staged is None
        self.measured.append("rollback")
        if self.refusal is not None:
            raise self.refusal
        return ROLLBACK


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqlRunStore]:
    with open_store(f"sqlite:///{tmp_path / 'runs.db'}") as opened:
        yield opened


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(good_facts(tmp_path / "shop"))


def gates(
    world: World,
    store: SqlRunStore,
    *,
    enforced: bool = True,
    now: datetime = NOW,
    label: bool = False,
    small: bool = True,
) -> GateService:
    limit = HighVolume() if small else HighVolume.model_construct(records=1, bytes=1)
    policy = GatePolicy("prod", enforced, limit, RoleSettings(), needs_approval=False)
    contract = world.facts.contract
    if label:
        metadata = contract.metadata.model_copy(update={"labels": {DRILL_LABEL: "orders"}})
        contract = contract.model_copy(update={"metadata": metadata})
    return GateService(
        policy,
        world,
        world,
        store,
        world.facts.plan,
        contract,
        world.facts.pipeline,
        "ann",
        clock=lambda: now,
    )


def silent(_: str) -> None: ...


def test_only_what_is_due_is_measured_and_again_when_it_has_expired(world: World, store: SqlRunStore) -> None:
    assert gates(world, store).measure(silent) == MEASURED
    assert gates(world, store).measure(silent) == ()
    assert world.measured == list(MEASURED)
    later = gates(world, store, now=NOW + timedelta(days=2))
    assert later.due(MEASURED) == ("storage",)
    assert later.measure(silent, READS) == ("storage",)
    card = later.score()
    assert {each.gate for each in card.judgements if each.colour is Colour.GREEN} >= {"compatibility", "schema"}


def test_evidence_of_another_table_under_the_name_does_not_count(world: World, store: SqlRunStore) -> None:
    gates(world, store).measure(silent)
    moved = World(world.facts)
    moved.table = lambda: TableIdentity("another", "schema", 0)  # type: ignore[method-assign]
    assert gates(moved, store).due(MEASURED) == ("rollback",)


@pytest.mark.parametrize("refusal", [AnabranchError("No.", state="All.", hint="ask"), RuntimeError("password=secret")])
def test_a_rollback_that_can_not_be_rehearsed_is_evidence_and_due_again(
    world: World, store: SqlRunStore, refusal: Exception
) -> None:
    world.refusal = refusal
    service = gates(world, store)
    assert service.measure(silent, ROLLBACK_KIND) == ROLLBACK_KIND
    assert service.due(ROLLBACK_KIND) == ROLLBACK_KIND
    judged = next(each for each in service.score().judgements if each.gate == "rollback")
    assert (judged.colour, judged.cause) == (Colour.RED, "failed")
    assert "secret" not in judged.words, "a catalog's client may quote its settings"


def test_a_small_replay_is_cleared_once_what_is_unknown_is_acknowledged(world: World, store: SqlRunStore) -> None:
    service = gates(world, store)
    service.measure(silent)
    with pytest.raises(GateClosedError, match="capacity and cost"):
        service.clear_for_replay()
    service.acknowledge("a few rows")
    cleared = service.clear_for_replay()
    assert isinstance(cleared, ClearedPlan)
    assert cleared.plan is world.facts.plan
    assert set(cleared.scorecard.acknowledged) == {"capacity", "cost"}


def test_a_large_replay_is_not_cleared_by_an_acknowledgement(world: World, store: SqlRunStore) -> None:
    service = gates(world, store, small=False)
    service.measure(silent)
    with pytest.raises(GateClosedError) as refused:
        service.acknowledge("in a hurry")
    assert "anabranch gates override capacity -f CONTRACT" in refused.value.remedy
    for gate in ("capacity", "cost"):
        service.override(gate, "known from last week")
    assert service.clear_for_replay().scorecard.colour is Colour.RED, "overridden is not green"


def test_where_gates_are_not_enforced_red_is_acknowledged_on_record_once(world: World, store: SqlRunStore) -> None:
    service = gates(world, store, enforced=False)
    for _ in range(2):
        service.clear_for_replay()
    records = store.reader.audit(action="gate.acknowledge")
    assert len(records) == 1
    assert all(each.automatic for each in service.score().acknowledgements.values())


def test_a_drill_is_not_blocked_by_what_it_measures(world: World, store: SqlRunStore) -> None:
    with pytest.raises(GateClosedError):
        gates(world, store).clear_for_replay()
    assert gates(world, store, label=True).clear_for_replay().scorecard.stakes.basis == "a drill is never promoted"
    with pytest.raises(GateClosedError):
        gates(world, store, label=True, small=False).clear_for_replay()


def test_a_failed_check_is_never_cleared(world: World, store: SqlRunStore) -> None:
    world.facts = replace(world.facts, residency="us")
    with pytest.raises(GateClosedError, match="governance"):
        gates(world, store, enforced=False).clear_for_replay()
    assert store.reader.audit(action="gate.acknowledge") == []


def test_a_promotion_needs_a_rehearsed_rollback_even_where_gates_are_not_enforced(
    world: World, store: SqlRunStore
) -> None:
    service = gates(world, store, enforced=False)
    with pytest.raises(GateClosedError, match="rollback"):
        service.require_for_promotion()
    service.measure(silent, ROLLBACK_KIND)
    service.require_for_promotion()
    with pytest.raises(GateClosedError, match="rollback is yellow"):
        gates(world, store, enforced=False, now=NOW + timedelta(days=8)).require_for_promotion()


def test_a_gate_that_does_not_exist_can_not_be_overridden(world: World, store: SqlRunStore) -> None:
    with pytest.raises(GateUnknownError, match="'speed'"):
        gates(world, store).override("speed", "why not")
