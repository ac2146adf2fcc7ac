"""The third part of the demo: live's latency alone, beside a replay without the governor, and beside a governed one."""

from __future__ import annotations

import json
import textwrap
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

from anabranch.adapters.sql.store import SqlRunStore
from anabranch.app.backfill import BackfillRun, submit_contract
from anabranch.app.project_context import ProjectContext, open_project
from anabranch.demo.latency import Arrivals, Latency, between, latencies, live_commits, p99, strip
from anabranch.demo.narrator import Narrator
from anabranch.demo.orders import PARTITIONS, TOPIC, Record, orders, send
from anabranch.demo.scene import FORFEIT_REASON, SceneObserver, StoryError, await_live, now
from anabranch.live.pace import LivePace
from anabranch.live.process import LivePipeline
from anabranch.plan.slices import Slice
from anabranch.project.quantities import format_moment
from anabranch.replay.controls import ControlRequest
from anabranch.replay.replayer import SliceProgress
from anabranch.runs.states import Event, State

PIPELINE, TABLE = "orders", "shop.orders"
HISTORY = datetime(2025, 6, 10, tzinfo=timezone.utc)
DAYS = timedelta(days=2)
PATTERNS = 5_000
"""Orders that the history is made of; only their ids differ."""
PER_SECOND = 2_000
FIRST_HISTORIC, FIRST_STEADY = 10_000_000, 90_000_000
ALONE, UNGOVERNED, GOVERNED, PAUSE = 12.0, 15.0, 40.0, 6.0
"""Seconds of each phase, and between two of them."""
SETTINGS = """# Short times: the demo shows in one minute what usually takes three.
governor:
  tick: 2s
  alone: 8s
"""


@dataclass(frozen=True)
class LoadPhase:
    name: str
    began: float
    ended: float
    megabytes_per_second: float | None = None
    """Of the replay; of a governed one in the last third of the phase. None: no replay, or not known."""


@dataclass
class RateObserver(SceneObserver):
    """Notes how much the replay has read, and when."""

    narrator: Narrator
    read: list[tuple[float, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(self.narrator)

    def slice_progress(self, slice_: Slice, progress: SliceProgress) -> None:  # noqa: ARG002
        self.read.append((time.time(), progress.bytes))


@dataclass(frozen=True)
class LiveFirst:
    folder: Path
    narrator: Narrator
    history: int
    """Orders to replay."""

    def __call__(self) -> None:
        self.narrator.section(
            "Live first",
            f"{self.history:,} more orders, which a replay reads again while live writes {PER_SECOND} new ones a "
            "second. First without the governor, then with it.",
        )
        file = self.folder / "anabranch.yaml"
        file.write_text(governed_settings(file.read_text()))
        project_context = open_project(self.folder)
        with self.narrator.step(f"Produce {self.history:,} orders and wait until live's lag is 0."):
            send(project_context.kafka.client("shop"), history(self.history))
            LivePipeline(project_context, PIPELINE).start(LivePace(interval_seconds=0.3))
            await_live(project_context, PIPELINE)
        with _orders_come_in(project_context) as arrivals, project_context.store() as store:
            phases = list(self._phases(project_context, store))
            time.sleep(PAUSE)
        measured = latencies(arrivals, live_commits(project_context.catalog.open().load_table(TABLE)))
        for line in drawing(phases, measured):
            self.narrator.line(line)

    def _phases(self, project_context: ProjectContext, store: SqlRunStore) -> Iterator[LoadPhase]:
        began = time.time()
        with self.narrator.step("Live alone."):
            time.sleep(ALONE)
        yield LoadPhase("live alone", began, time.time())
        off = {"off": "To show what a replay does to live without it"}
        with self.narrator.step("Replay beside live, without the governor; cancelled after a while."):
            yield self._replay(project_context, store, "without the governor", UNGOVERNED, {"governor": off})
        time.sleep(PAUSE)
        with self.narrator.step("The same replay with the governor; cancelled after a while."):
            yield self._replay(project_context, store, "with the governor", GOVERNED, {}, 1 / 3)

    def _replay(
        self,
        project_context: ProjectContext,
        store: SqlRunStore,
        name: str,
        seconds: float,
        terms: Mapping[str, object],
        share: float = 1.0,
    ) -> LoadPhase:
        """A replay of at most so many seconds, with its rate in the last `share` of them."""
        contract = self.folder / "contracts" / f"{name.replace(' ', '-')}.yaml"
        contract.write_text(json.dumps(contract_for(name.replace(" ", "-"), terms), indent=2))
        run = submit_contract(project_context, store, contract, now=now(), actor="demo")
        backfill, observer = BackfillRun(project_context, store, run.id), RateObserver(self.narrator)
        stopper = threading.Timer(seconds, _cancel, (store, run.id))
        with backfill.lease() as lease:
            began = time.time()
            stopper.start()
            backfill.replay(lease, observer)
            ended = min(time.time(), began + seconds)
            stopper.cancel()
            if lease.run.state is State.STAGED:
                lease.transition(Event.CANCEL)
            backfill.close(lease, now(), forfeit=FORFEIT_REASON)
        first = observer.read[0][0] if observer.read else began
        return LoadPhase(name, first, ended, rate(observer.read, ended - (ended - first) * share))


def governed_settings(text: str) -> str:
    """The project file with the governor's times set for the first context."""
    anchor = "    dev:\n"
    if anchor not in text:
        raise StoryError("the project file has no context dev")
    return text.replace(anchor, f"{anchor}{textwrap.indent(SETTINGS, '      ')}", 1)


def history(count: int) -> Iterator[Record]:
    """Orders of two days. Only the ids of a few thousand patterns differ: to generate each would take minutes."""
    patterns = list(orders(PATTERNS, first=FIRST_HISTORIC, beginning=HISTORY, span=DAYS))
    former = [f"o-{FIRST_HISTORIC + index:07}".encode() for index in range(PATTERNS)]
    rounds = -(-count // PATTERNS)
    for number in range(count):
        index = number // rounds
        pattern, id_ = patterns[index], f"o-{FIRST_HISTORIC + number:07}".encode()
        yield replace(pattern, partition=number % PARTITIONS, value=pattern.value.replace(former[index], id_))


def contract_for(name: str, terms: Mapping[str, object]) -> dict[str, object]:
    span = {"from": format_moment(HISTORY), "to": format_moment(HISTORY + DAYS)}
    return {
        "apiVersion": "anabranch/v1",
        "kind": "Backfill",
        "metadata": {"name": name},
        "spec": {
            "pipeline": PIPELINE,
            "reason": "The demo compares live's latency with and without the governor.",
            "owner": "shop-data@example.com",
            "range": {"eventTime": span},
            "rollback": {"authority": "shop-oncall@example.com"},
            **terms,
        },
    }


def rate(read: Sequence[tuple[float, int]], since: float) -> float | None:
    """Megabytes per second from `since` on; None with fewer than two readings."""
    counted = [each for each in read if each[0] >= since]
    if len(counted) < 2:
        return None
    (first, before), (last, after) = counted[0], counted[-1]
    return (after - before) / 1e6 / max(0.001, last - first)


def drawing(phases: Sequence[LoadPhase], measured: Sequence[Latency]) -> Iterator[str]:
    """A line of bars for each phase, one bar a second, all by one scale."""
    parts = {phase.name: between(measured, phase.began, phase.ended) for phase in phases}
    if few := [name for name, part in parts.items() if len(part) < 2]:
        raise StoryError(f"live committed no order that arrived {' and '.join(few)}")
    alone, top = p99(parts[phases[0].name]), max(each.seconds for part in parts.values() for each in part)
    yield f"Seconds from an order's arrival to its commit by live, one bar a second (highest bar: {top:.1f} s)"
    for phase in phases:
        bars = strip(measured, phase.began, phase.ended, top)
        own = p99(parts[phase.name])
        words = "" if phase is phases[0] else f", {own / alone:.1f} times live alone"
        read = "" if phase.megabytes_per_second is None else f"; replay {phase.megabytes_per_second:,.1f} MB/s"
        yield f"{phase.name:20}  p99 {own:.1f} s{words}{read}"
        yield f"  {bars}"


def _cancel(store: SqlRunStore, run_id: str) -> None:
    store.writer.record_act(ControlRequest.CANCEL.value, actor="demo", run_id=run_id)


@contextmanager
def _orders_come_in(project_context: ProjectContext) -> Iterator[Arrivals]:
    """New orders at a steady rate, each noted when the broker acknowledged it."""
    stop, arrivals, failures = threading.Event(), Arrivals(), list[BaseException]()
    client = project_context.kafka.client("shop")

    def produce() -> None:
        from confluent_kafka import Producer

        producer = Producer({**client, "linger.ms": 5, "log_level": 0})
        began, count = time.monotonic(), 0
        today = datetime.now(timezone.utc)
        try:
            while not stop.wait(0.05):
                due = int((time.monotonic() - began) * PER_SECOND) - count
                for record in orders(due, first=FIRST_STEADY + count, beginning=today, span=timedelta(seconds=1)):
                    producer.produce(TOPIC, record.value, record.key, record.partition, arrivals.acknowledged)
                count += due
                producer.poll(0)
            producer.flush()
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=produce, name="shop")
    thread.start()
    try:
        yield arrivals
    finally:
        stop.set()
        thread.join()
    if failures:
        raise failures[0]
