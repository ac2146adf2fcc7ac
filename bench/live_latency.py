"""Live's latency with a replay beside it, with and without the governor, as ratios to live alone.

Live runs in a process of its own, with orders coming in at a steady rate. The latency of a record is the time from the
broker's acknowledgement to the commit of live whose offsets contain it: read from the table's snapshots, not from the
product's own signals. Five rounds of live alone, a replay without the governor, and a governed one. A sweep of fixed
rates finds the highest at which the p99 is still within the aim: what a perfect governor would reach.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timezone
from threading import Event, Thread, Timer

from bench.workbench import PARTITIONS, TABLE, TOPIC, Bench, Quiet, bench, fill, keep, order, write_contract
from confluent_kafka import Producer

from anabranch.app.backfill import BackfillRun
from anabranch.app.planning import plan_backfill
from anabranch.demo.latency import Arrivals, Latency, between, latencies, live_commits, p99
from anabranch.live.pace import LivePace
from anabranch.live.process import LivePipeline
from anabranch.plan.slices import Slice
from anabranch.plan.submission import submit
from anabranch.replay.controls import ControlRequest
from anabranch.replay.replayer import SliceProgress
from anabranch.runs.states import State

RECORDS = int(os.environ.get("BENCH_LATENCY_RECORDS", "6000000"))
ROUNDS = int(os.environ.get("BENCH_LATENCY_ROUNDS", "5"))
ALONE, UNGOVERNED, GOVERNED, FIXED = 16, 12, 105, 14
"""Seconds of each phase. The governor starts slowly, so it gets the longest; its rate is that of the last third."""
SETTLE = 6
"""Seconds after each phase whose records count to none."""
SHARES = (0.15, 0.25, 0.35, 0.5, 0.65, 0.8)
"""Fixed rates of the sweep, of the replay's own without the governor."""
PER_SECOND, SLICE, AIM = 1000, 100_000, 1.2
FIRST_NEW = 10**8
OFF = {"off": "measured without"}


@contextmanager
def orders_coming_in(bootstrap: str) -> Iterator[Arrivals]:
    stop, arrivals = Event(), Arrivals()

    def produce() -> None:
        producer, number, started = Producer({"bootstrap.servers": bootstrap, "linger.ms": 5}), 0, time.monotonic()
        while not stop.wait(0.05):
            while number < (time.monotonic() - started) * PER_SECOND:
                value = order(FIRST_NEW + number, datetime.now(timezone.utc))
                producer.produce(TOPIC, value, partition=number % PARTITIONS, on_delivery=arrivals.acknowledged)
                number += 1
            producer.poll(0)
        producer.flush()

    thread = Thread(target=produce, daemon=True)
    thread.start()
    try:
        yield arrivals
    finally:
        stop.set()
        thread.join()


@dataclass(frozen=True)
class Phase:
    name: str
    began: float
    ended: float
    bytes_per_second: float = 0.0


@dataclass
class Watch(Quiet):
    """Notes how much has been read, and when."""

    read: list[tuple[float, int]] = field(default_factory=list)

    def slice_progress(self, _slice: Slice, progress: SliceProgress) -> None:  # type: ignore[override]
        self.read.append((time.time(), progress.bytes))

    def notice(self, *words: object) -> None:
        sys.stderr.write(f"    {' '.join(map(str, words))}\n")

    def rate_since(self, moment: float) -> float:
        since = [each for each in self.read if each[0] >= moment]
        if len(since) < 2:
            return 0.0
        (first, before), (last, after) = since[0], since[-1]
        return (after - before) / max(0.001, last - first)


def replay_for(place: Bench, name: str, seconds: float, terms: Mapping[str, object], last: float = 1.0) -> Phase:
    """A replay that is cancelled after so many seconds; its rate over the last part of them."""
    file = write_contract(place, name, live=True)
    request = json.loads(file.read_text())
    request["spec"].update(terms)
    file.write_text(json.dumps(request))
    context = place.project_context
    planned = plan_backfill(context, file, now=datetime.now(timezone.utc), offsets_per_slice=SLICE)
    watch = Watch()
    with context.store() as store:
        submitted = submit(
            store.writer, planned.plan, planned.request.contract, now=datetime.now(timezone.utc), actor="bench"
        )
        run = BackfillRun(context, store, submitted.id)
        stopper = Timer(seconds, _cancel, (store, run.run_id))
        with run.lease() as lease:
            began = time.time()
            stopper.start()
            run.replay(lease, watch)
            ended = min(time.time(), began + seconds)
            stopper.cancel()
            if run.run.state is not State.CANCELLED:
                raise AssertionError(f"the replay {name} came to its end within {seconds} s: raise RECORDS")
            run.close(lease, datetime.now(timezone.utc), forfeit="measured")
    first = watch.read[0][0] if watch.read else began
    rate = watch.rate_since(ended - (ended - first) * last)
    sys.stderr.write(f"  {name:12} {rate / 1e6:8.2f} MB/s\n")
    return Phase(name, first, ended, rate)


def _cancel(store: object, run_id: str) -> None:
    store.writer.record_act(ControlRequest.CANCEL.value, actor="bench", run_id=run_id)  # type: ignore[attr-defined]


def p99_of(measured: Sequence[Latency], phases: Sequence[Phase], name: str) -> float:
    """The median over the rounds of each round's 99th percentile."""
    return statistics.median(p99(between(measured, each.began, each.ended)) for each in phases if each.name == name)


def measure(place: Bench) -> dict[str, object]:
    fill(place.bootstrap, RECORDS)
    live = LivePipeline(place.project_context, "orders")
    live.start(LivePace(interval_seconds=1.0))
    try:
        while (lag := live.status().lag) is None or lag.total > PER_SECOND * 5:
            time.sleep(0.5)
        with orders_coming_in(place.bootstrap) as arrivals:
            phases = list(_phases(place))
            time.sleep(SETTLE)
    finally:
        live.stop()
    table = place.project_context.catalog.open().load_table(TABLE)
    return summary(latencies(arrivals, live_commits(table)), phases)


def _phases(place: Bench) -> Iterator[Phase]:
    replay_for(place, "warm-up", UNGOVERNED, {"governor": OFF})
    free: list[float] = []
    for _ in range(ROUNDS):
        time.sleep(SETTLE)
        began = time.time()
        time.sleep(ALONE)
        yield Phase("alone", began, time.time())
        phase = replay_for(place, "ungoverned", UNGOVERNED, {"governor": OFF})
        free.append(phase.bytes_per_second)
        yield phase
        time.sleep(SETTLE)
        yield replay_for(place, "governed", GOVERNED, {}, last=1 / 3)
    for share in SHARES:
        time.sleep(SETTLE)
        budget = {"bytesPerSecond": f"{int(statistics.median(free) * share)}B"}
        yield replay_for(place, f"fixed-{round(share * 100)}", FIXED, {"governor": OFF, "budget": budget})


def summary(measured: Sequence[Latency], phases: Sequence[Phase]) -> dict[str, object]:
    alone = p99_of(measured, phases, "alone")
    for each in phases:
        own = p99(between(measured, each.began, each.ended))
        sys.stderr.write(f"  {each.name:12} {each.bytes_per_second / 1e6:8.2f} MB/s  p99 {own:.2f} s\n")
    governed = statistics.median(each.bytes_per_second for each in phases if each.name == "governed")
    fixed = {
        each.name: (p99_of(measured, phases, each.name) / alone, each.bytes_per_second)
        for each in phases
        if each.name.startswith("fixed")
    }
    within = [rate for ratio, rate in fixed.values() if ratio <= AIM]
    return {
        "live_latency_p99_seconds_alone": round(alone, 3),
        "live_latency_p99_ratio": round(p99_of(measured, phases, "governed") / alone, 2),
        "live_latency_p99_ratio_ungoverned": round(p99_of(measured, phases, "ungoverned") / alone, 2),
        "governed_rate_vs_best_fixed": round(governed / max(within), 2) if within else None,
        "governed_mb_per_second": round(governed / 1e6, 2),
        "best_fixed_mb_per_second": round(max(within) / 1e6, 2) if within else None,
        "fixed_rates": {name: [round(ratio, 2), round(rate / 1e6, 2)] for name, (ratio, rate) in fixed.items()},
    }


def main() -> None:
    with bench() as place:
        keep(measure(place))


if __name__ == "__main__":
    main()
