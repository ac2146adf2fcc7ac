"""How long a rehearsal says that a replay of twenty times as many records takes, as a ratio to how long it does take.

Three times, each a rehearsal and then the whole replay on the same Spark session; the median counts. Prints JSON and
merges it into build/bench.json, so that each measurement keeps the keys of the others.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from plan_vs_scan import merge, stack
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import HourTransform
from pyiceberg.types import DecimalType, NestedField, StringType, TimestamptzType

from anabranch.plan.planner import Planned
from anabranch.plan.slices import Slice
from anabranch.project.scaffold import plan_project, write_project
from anabranch.replay.replayer import SliceDone
from anabranch.runs.states import Event
from anabranch.wiring.backfill import BackfillRun, submit
from anabranch.wiring.planning import plan_backfill
from anabranch.wiring.prospect import look_at_prospect
from anabranch.wiring.rehearsal import Rehearsal
from anabranch.wiring.workplace import Workplace, open_workplace

SLICE, TIMES, ROUNDS, PARTITIONS = 12_000, 20, 3, 4
REHEARSED = SLICE * 5 // 2
"""Two and a half slices: see `plan/pieces.py`."""
RECORDS = REHEARSED * TIMES
JUNE = datetime(2025, 6, 1, tzinfo=timezone.utc)
SCHEMA = Schema(
    NestedField(1, "order_id", StringType()),
    NestedField(2, "customer", StringType()),
    NestedField(3, "currency", StringType()),
    NestedField(4, "amount", DecimalType(18, 2)),
    NestedField(5, "amount_eur", DecimalType(18, 2)),
    NestedField(6, "ordered_at", TimestamptzType()),
)
CONTRACT = {
    "apiVersion": "anabranch/v1",
    "kind": "Backfill",
    "metadata": {"name": "day"},
    "spec": {
        "pipeline": "orders",
        "reason": "measured",
        "owner": "bench",
        "range": {"eventTime": {"from": "2025-06-01T00:00:00Z", "to": "2025-06-02T00:00:00Z"}},
        "rollback": {"authority": "bench"},
    },
}


class Unseen:
    """Nobody watches."""

    def slice_done(self, piece: Slice, done: SliceDone, seconds: float) -> None: ...

    def resting(self, seconds: float, reason: str) -> None: ...

    def interrupted(self) -> bool:
        return False


def make_table(workplace: Workplace) -> None:
    tables = workplace.catalog.open()
    tables.create_namespace("shop")
    spec = PartitionSpec(PartitionField(6, 1000, HourTransform(), "ordered_at_hour"))
    tables.create_table("shop.orders", SCHEMA, partition_spec=spec).append(SCHEMA.as_arrow().empty_table())


def fill(bootstrap: str) -> None:
    """One day of orders."""
    topic = NewTopic("shop.orders", num_partitions=PARTITIONS, config={"retention.ms": "-1"})
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([topic])["shop.orders"].result(30)
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 50, "queue.buffering.max.messages": 1_000_000})
    step = timedelta(days=1) / RECORDS
    for number in range(RECORDS):
        at = JUNE + number * step
        order = {"order_id": f"o{number}", "customer": "ada", "currency": ("EUR", "USD")[number % 2], "amount": 1.5}
        value = json.dumps({**order, "ordered_at": at.isoformat()})
        stamp = round(at.timestamp() * 1000)
        producer.produce("shop.orders", value.encode(), partition=number % PARTITIONS, timestamp=stamp)
        if number % 10_000 == 0:
            producer.poll(0)
    producer.flush()


def predicted(workplace: Workplace, planned: Planned) -> tuple[float, int]:
    """Seconds of the whole replay by a rehearsal of a twentieth, and how many records that rehearsal replayed."""
    asked = planned.asked
    with workplace.store() as store:
        spark = workplace.spark("bench")
        found, _ = Rehearsal(workplace, store, planned.plan, asked.backfill, asked.pipeline, "bench", spark)(
            datetime.now(timezone.utc)
        )
    window = look_at_prospect(workplace, planned, datetime.now(timezone.utc), found).window
    if window is None:
        raise AssertionError("there was a rehearsal, and there is no window")
    return window.replay.total_seconds(), found.records


def measured(workplace: Workplace, planned: Planned) -> float:
    """Seconds of the whole replay, from the first look at the world to the last slice; then all is removed again."""
    with workplace.store() as store:
        now = datetime.now(timezone.utc)
        submitted = submit(store, planned.plan, planned.asked.contract, now=now, actor="bench")
        run = BackfillRun(workplace, store, submitted.id)
        with run.hold() as hold:
            started = time.perf_counter()
            run.replay(hold, Unseen())
            seconds = time.perf_counter() - started
            hold.move(Event.CANCEL)
            run.close(hold)
    return seconds


def measure(folder: Path, bootstrap: str) -> dict[str, object]:
    workplace = open_workplace(folder, "dev")
    make_table(workplace)
    fill(bootstrap)
    contract = folder / "contracts" / "day.yaml"
    contract.write_text(json.dumps(CONTRACT))
    pairs = []
    for _ in range(ROUNDS):
        planned = plan_backfill(workplace, contract, now=datetime.now(timezone.utc), offsets_per_slice=SLICE)
        told, records = predicted(workplace, planned)
        took = measured(workplace, planned)
        pairs.append((told, took))
        sys.stderr.write(f"{records:,} records rehearsed of {RECORDS:,}: {told:.1f} s told, {took:.1f} s taken\n")
    ratios = sorted(told / took for told, took in pairs)
    return {
        "rehearsal_prediction": round(statistics.median(ratios), 3),
        "rehearsal_prediction_rounds": [round(ratio, 3) for ratio in ratios],
        "rehearsal_predicted_seconds": [round(told, 1) for told, _ in pairs],
        "rehearsal_measured_seconds": [round(took, 1) for _, took in pairs],
        "rehearsal_times_larger": TIMES,
    }


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "shop"
        write_project(plan_project(folder, "shop"))
        with stack(folder) as bootstrap:
            found = measure(folder, bootstrap)
    merge(found)
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
