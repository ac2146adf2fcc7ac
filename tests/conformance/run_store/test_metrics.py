"""Metrics of runs, read from a store: what a process adds is seen at once, and a run at rest is not read again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

from tests.conformance.run_store.scene import HandClock, leased, new_run, transition

from anabranch.adapters.sql.reader import SqlRunReader
from anabranch.adapters.sql.store import SqlRunStore
from anabranch.contract.price_book import shipped_price_book
from anabranch.monitoring.run_reader import RunMetricsReader
from anabranch.runs.journal import JournalEntry, Outcome
from anabranch.runs.lease import Lease
from anabranch.runs.states import Event

PLAN = {"slices": [{"id": f"s{n:05}", "offsets": {"0": [n * 10, n * 10 + 10]}} for n in range(4)]}
LEDGER = {"bytes": 100, "partitions": {"0": {"offsets": 10, "output": 10, "rows": 10}}}
LIMITED = {"source": "governor", "reason": "", "bytes_per_second": 5, "paused": False}
SECOND = timedelta(seconds=1)


@dataclass(frozen=True)
class CountingReader(SqlRunReader):
    journals: list[str] = field(default_factory=list)
    """Runs whose journal was read."""

    def journal(self, run_id: str) -> Sequence[JournalEntry]:
        self.journals.append(run_id)
        return super().journal(run_id)


def stage(store: SqlRunStore, lease: Lease, slice_: str) -> None:
    entry = store.writer.record_intent("r1", lease.epoch, "slice", {"slice": slice_}, intent=f"{slice_}/{lease.epoch}")
    store.writer.record_outcome(entry.id, lease.epoch, Outcome.SUCCEEDED, {"ledger": LEDGER})


def test_a_run_is_read_while_it_is_leased_and_once_after(store: SqlRunStore, clock: HandClock) -> None:
    document = {"spec": {"budget": {"cost": 0.001}}}
    store.writer.submit(replace(new_run(), contract=document, plan=PLAN), actor="ada")
    reader = CountingReader(store.engine)
    metrics = RunMetricsReader(clock, shipped_price_book, cores=1)
    assert metrics.read(reader).tallies["r1"].planned == 40
    assert metrics.read(reader).tallies["r1"].staged == 0
    assert reader.journals == ["r1"]

    lease = leased(store)
    transition(store, lease, Event.START)
    for number, slice_ in enumerate(("s00000", "s00001"), start=1):
        stage(store, lease, slice_)
        reading = metrics.read(reader)
        assert reading.tallies["r1"].staged == number * 10
    opened = reading.open["r1"]
    assert opened.lease.holder == lease.holder
    assert opened.cost_ratio is not None
    assert opened.cost_ratio > 0
    store.writer.release("r1", lease.epoch, actor="ada")
    reader.journals.clear()
    assert metrics.read(reader).tallies["r1"].slices == {"succeeded": 2}
    metrics.read(reader)
    assert reader.journals == ["r1"], "once after the release, and not again"


def test_a_quota_is_left_once_its_process_has_lost_the_lease(store: SqlRunStore, clock: HandClock) -> None:
    store.writer.submit(replace(new_run(), contract={"spec": {}}, plan=PLAN), actor="ada")
    lease = leased(store)
    quota = store.writer.intend_quota("r1", lease.epoch, cluster="c", user="ada", client_id="replay-r1", value=9)
    store.writer.confirm_quota(quota.number, lease.epoch)
    metrics = RunMetricsReader(clock, shipped_price_book, cores=1)
    reading = metrics.read(store.reader)
    assert (reading.orphan_quotas, reading.quotas) == (0, {"r1": 9})
    clock.advance(3600 * SECOND)
    assert metrics.read(store.reader).orphan_quotas == 1


def test_a_limit_counts_while_it_holds(store: SqlRunStore, clock: HandClock) -> None:
    store.writer.submit(replace(new_run(), contract={"spec": {}}, plan=PLAN), actor="ada")
    lease = leased(store)
    transition(store, lease, Event.START)
    metrics = RunMetricsReader(clock, shipped_price_book, cores=1)
    store.writer.record_act("pace.changed", actor="ada", run_id="r1", details=LIMITED)
    store.writer.note_pace("r1", lease.epoch, LIMITED)
    clock.advance(3 * SECOND)
    reading = metrics.read(store.reader)
    assert reading.throttled == {("r1", "governor"): 3}
    pace = reading.open["r1"].pace
    assert pace is not None
    assert pace.details["bytes_per_second"] == 5
    transition(store, lease, Event.STAGE)
    clock.advance(3 * SECOND)
    assert metrics.read(store.reader).throttled == {("r1", "governor"): 3}
