"""Live's latency with a replay beside it, with and without the governor, as ratios to live alone.

Live runs in a process of its own, with orders coming in at a steady rate. The latency of a record is the time from the
broker's acknowledgement to the commit of live whose offsets contain it: read from the table's snapshots, not from the
product's own signals. Five rounds of live alone, a replay without any limit, and a governed one. A sweep of fixed rates
finds the highest at which the p99 is still within the aim: what a perfect governor would reach.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from threading import Event, Thread

from bench.workbench import DAY, PARTITIONS, TABLE, TOPIC, Bench, Quiet, bench, fill, keep, order, write_contract
from confluent_kafka import Message, Producer

from anabranch.adapters.iceberg import properties as props
from anabranch.app.backfill import BackfillRun, submit
from anabranch.app.planning import plan_backfill
from anabranch.app.project_context import ProjectContext, open_project
from anabranch.live.pace import LivePace
from anabranch.live.process import LivePipeline
from anabranch.plan.slices import Slice
from anabranch.promote.history import Author
from anabranch.replay.controls import ControlRequest
from anabranch.replay.replayer import SliceProgress
from anabranch.runs.states import State

RECORDS = int(os.environ.get("BENCH_LATENCY_RECORDS", "12000000"))
ROUNDS = int(os.environ.get("BENCH_LATENCY_ROUNDS", "5"))
ALONE, UNLIMITED, GOVERNED, FIXED = 30, 30, 150, 30
"""Seconds of each phase. The governor starts slowly, so it gets the longest; its rate is that of the last third."""
SETTLE = 8
"""Seconds after each phase whose records count to none."""
PER_SECOND, SLICE, AIM = 1000, 100_000, 1.2
FIRST_NEW = 10**8


@dataclass
class Produced:
    """When the broker acknowledged each record that came in, by partition: offsets and times, both growing."""

    offsets: Mapping[int, list[int]] = field(default_factory=lambda: {p: [] for p in range(PARTITIONS)})
    times: Mapping[int, list[float]] = field(default_factory=lambda: {p: [] for p in range(PARTITIONS)})

    def acknowledged(self, error: object, message: Message) -> None:
        partition, offset = message.partition(), message.offset()
        if error is None and partition is not None and offset is not None:
            self.offsets[partition].append(offset)
            self.times[partition].append(time.time())


@contextmanager
def orders_coming_in(bootstrap: str) -> Iterator[Produced]:
    stop, produced = Event(), Produced()

    def produce() -> None:
        producer, number, started = Producer({"bootstrap.servers": bootstrap, "linger.ms": 5}), 0, time.monotonic()
        while not stop.wait(0.05):
            while number < (time.monotonic() - started) * PER_SECOND:
                value = order(FIRST_NEW + number, datetime.now(timezone.utc))
                producer.produce(TOPIC, value, partition=number % PARTITIONS, on_delivery=produced.acknowledged)
                number += 1
            producer.poll(0)
        producer.flush()

    thread = Thread(target=produce, daemon=True)
    thread.start()
    try:
        yield produced
    finally:
        stop.set()
        thread.join()


def latencies(place: Bench, produced: Produced) -> dict[float, float]:
    """Seconds until its commit of every tenth record, by the time when it came in."""
    table = place.project_context.catalog.open().load_table(TABLE)
    commits: dict[int, list[tuple[int, float]]] = {partition: [] for partition in range(PARTITIONS)}
    for snapshot in sorted(table.snapshots(), key=lambda each: each.sequence_number or 0):
        properties = dict(snapshot.summary.additional_properties) if snapshot.summary else {}
        if properties.get(props.AUTHOR) == Author.LIVE.value:
            for partition, (_, end) in props.read_offsets(properties).items():
                commits[partition].append((end, snapshot.timestamp_ms / 1000))
    found: dict[float, float] = {}
    for partition, ends in commits.items():
        bounds = [end for end, _ in ends]
        for offset, came in list(zip(produced.offsets[partition], produced.times[partition], strict=True))[::10]:
            at = bisect_right(bounds, offset)
            if at < len(ends):
                found[came] = ends[at][1] - came
    return found


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
        self.read.append((time.monotonic(), progress.bytes))

    def rate_since(self, moment: float) -> float:
        since = [each for each in self.read if each[0] >= moment]
        if len(since) < 2:
            return 0.0
        (first, before), (last, after) = since[0], since[-1]
        return (after - before) / max(0.001, last - first)


def context_with(place: Bench, governor: bool) -> ProjectContext:
    """The bench's project, with the governor on or off."""
    file = place.folder / "anabranch.yaml"
    text = file.read_text().split("\n# bench")[0]
    off = "" if governor else "\n# bench: see live_latency\n"
    file.write_text(text + off)
    if not governor:
        os.environ["ANABRANCH_GOVERNOR__ENABLED"] = "false"
    else:
        os.environ.pop("ANABRANCH_GOVERNOR__ENABLED", None)
    return open_project(place.folder, "dev")


def replay_for(context: ProjectContext, name: str, seconds: float, limit: int | None, last: float = 1.0) -> Phase:
    """A replay that is cancelled after so many seconds; its rate over the last part of them."""
    file = write_contract(Bench(context), name, live=True)
    if limit is not None:
        request = json.loads(file.read_text())
        request["spec"]["budget"] = {"bytesPerSecond": f"{limit}B"}
        file.write_text(json.dumps(request))
    planned = plan_backfill(context, file, now=datetime.now(timezone.utc), offsets_per_slice=SLICE)
    watch = Watch()
    with context.store() as store:
        submitted = submit(store, planned.plan, planned.request.contract, now=datetime.now(timezone.utc), actor="bench")
        run = BackfillRun(context, store, submitted.id)
        began, started = time.time(), time.monotonic()

        def cancel() -> None:
            time.sleep(seconds)
            store.writer.record_act(ControlRequest.CANCEL.value, actor="bench", run_id=run.run_id)

        stopper = Thread(target=cancel, daemon=True)
        with run.lease() as lease:
            stopper.start()
            run.replay(lease, watch)
            ended = time.time()
            stopper.join()
            if run.run.state is not State.CANCELLED:
                raise AssertionError(f"the replay {name} came to its end within {seconds} s: raise RECORDS")
            run.close(lease, datetime.now(timezone.utc), forfeit="measured")
    rate = watch.rate_since(started + seconds * (1 - last))
    sys.stderr.write(f"  {name:12} {rate / 1e6:8.2f} MB/s\n")
    return Phase(name, began, min(ended, began + seconds), rate)


def p99(found: Mapping[float, float], phases: Sequence[Phase], name: str) -> float:
    """The median over the rounds of each round's 99th percentile."""
    each = []
    for phase in (one for one in phases if one.name == name):
        seconds = [took for came, took in found.items() if phase.began <= came <= phase.ended]
        each.append(statistics.quantiles(seconds, n=100, method="inclusive")[-1])
    return statistics.median(each)


def measure(place: Bench) -> dict[str, object]:
    fill(place.bootstrap, RECORDS)
    live = LivePipeline(place.project_context, "orders")
    live.start(LivePace(interval_seconds=1.0))
    try:
        while (lag := live.status().lag) is None or lag.total > PER_SECOND * 5:
            time.sleep(0.5)
        place.project_context.spark("bench").range(1).count()
        with orders_coming_in(place.bootstrap) as produced:
            phases = list(_phases(place))
            time.sleep(SETTLE)
    finally:
        live.stop()
    return summary(latencies(place, produced), phases)


def _phases(place: Bench) -> Iterator[Phase]:
    replay_for(context_with(place, governor=False), "warm-up", UNLIMITED, None)
    free: list[float] = []
    for _ in range(ROUNDS):
        time.sleep(SETTLE)
        began = time.time()
        time.sleep(ALONE)
        yield Phase("alone", began, time.time())
        phase = replay_for(context_with(place, governor=False), "unlimited", UNLIMITED, None)
        free.append(phase.bytes_per_second)
        yield phase
        time.sleep(SETTLE)
        yield replay_for(context_with(place, governor=True), "governed", GOVERNED, None, last=1 / 3)
    for share in (0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8):
        time.sleep(SETTLE)
        limit = int(statistics.median(free) * share)
        yield replay_for(context_with(place, governor=False), f"fixed-{share:.0%}".replace("%", ""), FIXED, limit)


def summary(found: Mapping[float, float], phases: Sequence[Phase]) -> dict[str, object]:
    alone = p99(found, phases, "alone")
    governed = statistics.median([each.bytes_per_second for each in phases if each.name == "governed"])
    fixed = {one.name: (p99(found, phases, one.name) / alone, one.bytes_per_second) for one in phases if "fixed" in one.name}
    within = [rate for ratio, rate in fixed.values() if ratio <= AIM]
    for name, (ratio, rate) in fixed.items():
        sys.stderr.write(f"  {name:12} {rate / 1e6:8.2f} MB/s  p99 {ratio:.2f} times\n")
    return {
        "live_latency_p99_seconds_alone": round(alone, 3),
        "live_latency_p99_ratio": round(p99(found, phases, "governed") / alone, 2),
        "live_latency_p99_ratio_unlimited": round(p99(found, phases, "unlimited") / alone, 2),
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
