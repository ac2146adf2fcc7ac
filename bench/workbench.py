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

from anabranch.adapters.embedded.stack import EmbeddedKafka
from anabranch.project.scaffold import plan_project, write_project
from anabranch.wiring.workplace import Workplace, open_workplace

RESULTS = Path("build/bench.json")
TOPIC = "shop.orders"
DAY = datetime(2025, 6, 2, tzinfo=timezone.utc)
HOURS = 24
PARTITIONS = 4


@dataclass(frozen=True)
class Bench:
    """A project of the sample's shape with a broker of its own."""

    workplace: Workplace

    @property
    def bootstrap(self) -> str:
        return self.workplace.kafka.bootstrap

    @property
    def folder(self) -> Path:
        return self.workplace.folder


@contextmanager
def bench() -> Iterator[Bench]:
    """Below a folder that is removed again."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "shop"
        write_project(plan_project(folder, "shop"))
        kafka = EmbeddedKafka(folder / ".anabranch")
        kafka.up(1, patience=120)
        try:
            yield Bench(open_workplace(folder, "dev"))
        finally:
            kafka.down()


def fill(bootstrap: str, count: int, *, partitions: int = PARTITIONS, topic: str = TOPIC) -> int:
    """A day of orders in the order of time, each 178 bytes of JSON. Returns the bytes."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(topic, partitions, 1, config={"retention.ms": "-1"})])[topic].result(30)
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 50, "queue.buffering.max.messages": 1_000_000})
    total = 0
    for number in range(count):
        at = DAY + timedelta(hours=HOURS) * number / count
        value = order(number, at)
        total += len(value)
        producer.produce(topic, value, partition=number % partitions, timestamp=round(at.timestamp() * 1000))
        if number % 10_000 == 0:
            producer.poll(0)
    producer.flush()
    return total


def order(number: int, at: datetime) -> bytes:
    value = {
        "order_id": f"o-{number:09}",
        "customer": f"customer-{number * 7919 % 50_000:05}-of-the-shop-in-town",
        "currency": ("EUR", "USD", "GBP", "CHF")[number % 4],
        "amount": 100 + number * 31 % 90_000 / 100,
        "ordered_at": at.isoformat(timespec="microseconds"),
    }
    return json.dumps(value).encode().ljust(178)


def contract(name: str, hours: int = HOURS) -> dict[str, object]:
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
