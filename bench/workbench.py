"""What all measurements stand on: a stack of their own, a topic of orders, and the file of results."""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql import SparkSession

from anabranch.adapters.embedded.stack import EmbeddedKafka
from anabranch.adapters.spark.transform.load import load_transform, ship
from anabranch.adapters.spark.write.target_table import ensure_target
from anabranch.app.project_context import ProjectContext, open_project
from anabranch.contract.load import load_pipelines
from anabranch.project.scaffold import plan_project, write_project

RESULTS = Path("build/bench.json")
TOPIC = TABLE = "shop.orders"
DAY = datetime(2025, 6, 2, tzinfo=timezone.utc)
HOURS = 24
PARTITIONS = 4


@dataclass(frozen=True)
class Bench:
    """A project of the sample's shape with a broker of its own."""

    project_context: ProjectContext

    @property
    def bootstrap(self) -> str:
        return self.project_context.kafka.bootstrap

    @property
    def folder(self) -> Path:
        return self.project_context.folder


@contextmanager
def bench() -> Iterator[Bench]:
    """Below a folder that is removed again."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "shop"
        write_project(plan_project(folder, "shop"))
        kafka = EmbeddedKafka(folder / ".anabranch")
        kafka.up(1, patience=120)
        try:
            yield Bench(open_project(folder, "dev"))
        finally:
            kafka.down()


def fill(bootstrap: str, count: int, *, span: timedelta = timedelta(hours=HOURS), partitions: int = PARTITIONS) -> None:
    """Orders in the order of time, from `DAY` on, each 178 bytes of JSON."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(TOPIC, partitions, 1, config={"retention.ms": "-1"})])[TOPIC].result(30)
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 50, "queue.buffering.max.messages": 1_000_000})
    for number in range(count):
        at = DAY + span * number / count
        stamp = round(at.timestamp() * 1000)
        producer.produce(TOPIC, order(number, at), partition=number % partitions, timestamp=stamp)
        if number % 10_000 == 0:
            producer.poll(0)
    producer.flush()


def order(number: int, at: datetime) -> bytes:
    value = {
        "order_id": f"o-{number:09}",
        "customer": f"customer-{number * 7919 % 50_000:05}-of-the-shop-in-town",
        "currency": ("EUR", "USD", "GBP", "CHF")[number % 4],
        "amount": 100 + number * 31 % 90_000 / 100,
        "ordered_at": at.isoformat(timespec="microseconds"),
    }
    return json.dumps(value).encode().ljust(178)


def prepare(place: Bench, spark: SparkSession) -> None:
    """The target as live would have made it, with a first commit for the plan to start from."""
    pipeline = load_pipelines(place.project_context.loaded)["orders"].pipeline
    transform = load_transform(place.folder, pipeline)
    ship(spark, transform, pipeline)
    ensure_target(spark, place.project_context.catalog, pipeline, transform)
    table = place.project_context.catalog.open().load_table(TABLE)
    table.append(table.schema().as_arrow().empty_table())


def write_contract(place: Bench, name: str, hours: int = HOURS, *, live: bool = False) -> Path:
    """A contract for the first hours of the day. `live` says whether live writes to the table beside the replay."""
    file = place.folder / "contracts" / f"{name}.yaml"
    file.write_text(json.dumps(contract(name, hours, live=live)))
    return file


class Quiet:
    """Nobody watches."""

    def phase(self, *_: object) -> None: ...

    def remaining(self, *_: object) -> None: ...

    def slice_progress(self, *_: object) -> None: ...

    def slice_done(self, *_: object) -> None: ...

    def resting(self, *_: object) -> None: ...

    def notice(self, *_: object) -> None: ...

    def interrupted(self) -> bool:
        return False


def contract(name: str, hours: int = HOURS, *, live: bool = False) -> dict[str, object]:
    until = DAY + timedelta(hours=hours)
    span = {"from": DAY.strftime("%Y-%m-%dT%H:%M:%SZ"), "to": until.strftime("%Y-%m-%dT%H:%M:%SZ")}
    return {
        "apiVersion": "anabranch/v1",
        "kind": "Backfill",
        "metadata": {"name": name},
        "spec": {
            "pipeline": "orders",
            "reason": "measured",
            "owner": "bench",
            "range": {"eventTime": span},
            "rollback": {"authority": "bench"},
            **({} if live else {"live": "none"}),
        },
    }


def seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def alternating(contestants: Mapping[str, Callable[[], object]], rounds: int, warm_up: int = 1) -> dict[str, float]:
    """The median time of each, all of them in every round, so that what slows the machine slows them all."""
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for number in range(-warm_up, rounds):
        for name, work in contestants.items():
            took = seconds(work)
            sys.stderr.write(f"  {'warm-up' if number < 0 else f'round {number + 1}'}  {name:24} {took:8.2f} s\n")
            if number >= 0:
                times[name].append(took)
    return {name: statistics.median(each) for name, each in times.items()}


def keep(found: Mapping[str, object], file: Path = RESULTS) -> None:
    """Merge the figures into the results, so that each measurement keeps the keys of the others."""
    file.parent.mkdir(exist_ok=True)
    before = json.loads(file.read_text()) if file.is_file() else {}
    file.write_text(json.dumps({**before, **found}, indent=2, sort_keys=True) + "\n")
    sys.stdout.write(json.dumps(found) + "\n")
