"""How far live falls behind with a replay beside it, as a ratio to how far it is behind without one.

Live runs in a process of its own, with orders coming in all the time; its lag is seen from outside twice a second.
The replay keeps to the rate that its contract allows, and shares its machine with live and the broker.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from threading import Event, Thread

from bench.workbench import PARTITIONS, TOPIC, Bench, Quiet, bench, fill, keep, order, write_contract
from confluent_kafka import Producer

from anabranch.app.backfill import BackfillRun
from anabranch.app.live_watch import live_watch
from anabranch.app.planning import plan_backfill
from anabranch.contract.load import load_pipelines
from anabranch.live.pace import LivePace
from anabranch.live.process import LivePipeline
from anabranch.plan.submission import submit
from anabranch.readiness.live_samples import LiveSample
from anabranch.replay.replayer import ReplayEnd
from anabranch.runs.states import Event as Move

RECORDS = int(os.environ.get("BENCH_LAG_RECORDS", "1000000"))
SLICE, PER_SECOND, LIMIT = 50_000, 500, "4MiB"
WITHOUT_SECONDS = 60
FIRST_NEW = 10**8
"""Orders that come in while we look are numbered from here on."""


@contextmanager
def orders_coming_in(bootstrap: str) -> Iterator[None]:
    stop = Event()

    def produce() -> None:
        producer, number = Producer({"bootstrap.servers": bootstrap}), FIRST_NEW
        while not stop.wait(0.1):
            for _ in range(PER_SECOND // 10):
                producer.produce(TOPIC, order(number, datetime.now(timezone.utc)), partition=number % PARTITIONS)
                number += 1
            producer.poll(0)
        producer.flush()

    thread = Thread(target=produce, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def limited(place: Bench) -> Path:
    file = write_contract(place, "slow", live=True)
    request = json.loads(file.read_text())
    request["spec"]["budget"] = {"bytesPerSecond": LIMIT}
    file.write_text(json.dumps(request))
    return file


def replay(place: Bench, file: Path) -> float:
    """Seconds of the whole replay, which is given up after that."""
    planned = plan_backfill(place.project_context, file, now=datetime.now(timezone.utc), offsets_per_slice=SLICE)
    with place.project_context.store() as store:
        submitted = submit(
            store.writer, planned.plan, planned.request.contract, now=datetime.now(timezone.utc), actor="bench"
        )
        run = BackfillRun(place.project_context, store, submitted.id)
        with run.lease() as lease:
            started = time.monotonic()
            if run.replay(lease, Quiet()).end is not ReplayEnd.STAGED:
                raise AssertionError("the replay did not come to its end")
            took = time.monotonic() - started
            lease.transition(Move.CANCEL)
            run.close(lease, datetime.now(timezone.utc), forfeit="measured")
    return took


def p99(samples: list[LiveSample], *, replaying: bool) -> float:
    lags = [each.lag for each in samples if each.replaying is replaying and each.lag is not None]
    sys.stderr.write(
        f"  {'with' if replaying else 'without'} a replay: {len(lags)} looks, median {statistics.median(lags)}\n"
    )
    return statistics.quantiles(lags, n=100, method="inclusive")[-1]


def caught_up(live: LivePipeline) -> None:
    while (lag := live.status().lag) is None or lag.total > PER_SECOND * 5:
        time.sleep(0.5)


def measure(place: Bench) -> dict[str, object]:
    fill(place.bootstrap, RECORDS)
    live = LivePipeline(place.project_context, "orders")
    live.start(LivePace(interval_seconds=1.0))
    try:
        caught_up(live)
        place.project_context.spark("bench").range(1).count()
        watch = live_watch(place.project_context, load_pipelines(place.project_context.loaded)["orders"].pipeline)
        with orders_coming_in(place.bootstrap), watch.watching():
            time.sleep(WITHOUT_SECONDS)
            with watch.replaying():
                took = replay(place, limited(place))
    finally:
        live.stop()
    lag_with, without = p99(watch.samples, replaying=True), p99(watch.samples, replaying=False)
    return {
        "live_lag_p99_ratio": round(lag_with / without, 2),
        "live_lag_p99_with": round(lag_with),
        "live_lag_p99_without": round(without),
        "live_lag_replay_mib_per_second": round(RECORDS * 178 / took / 2**20, 2),
    }


def main() -> None:
    with bench() as place:
        keep(measure(place))


if __name__ == "__main__":
    main()
