"""Three backfills in three processes stay within one budget: bytes over half a minute, as the broker counts them."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from anabranch.gates.evidence import ACTION
from anabranch.gates.measure import READS
from anabranch.replay.allowance import STANDSTILL
from anabranch.replay.pacing import CHANGED
from anabranch.runs.states import State
from tests.crash.shop import Process, start_command
from tests.fixtures.broker import KafkaForTests, eventually
from tests.fixtures.broker_bytes import BrokerBytes
from tests.fixtures.spark import SparkForTests
from tests.scenarios.backfills import edit
from tests.scenarios.shop import CONTRACT, Shop, hours
from tests.scenarios.test_rate_limit import in_small_batches, wide

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

BUDGET = 3_900_000
HOURS = (0, 2, 4)
ORDERS = 10_000
"""In each of the hours, with 5 kB each: more than half a minute of a third of the budget."""
WINDOW = 30.0
OVERSHOOT = 1.05
USED = 0.5
"""Of the budget, in the busiest half minute: 0.98 on a free machine. Below 0.9 shares a fifth too large can pass."""
SAMPLE_SECONDS = 0.2
SECONDS = 240


@dataclass(frozen=True)
class Sample:
    """What the broker had sent, read between two moments, and what each run's process had read by its last note."""

    before: float
    after: float
    sent: int
    read: tuple[int, ...]


@dataclass
class Measured:
    broker: BrokerBytes
    shop: Shop
    runs: tuple[str, ...]
    samples: list[Sample] = field(default_factory=list)

    @contextmanager
    def sampled(self) -> Iterator[None]:
        ended = Event()

        def sample() -> None:
            while not ended.wait(SAMPLE_SECONDS):
                read = tuple(self._read(run) for run in self.runs)
                before = time.monotonic()
                sent = self.broker.sent()
                self.samples.append(Sample(before, time.monotonic(), sent, read))

        thread = Thread(target=sample, daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def _read(self, run: str) -> int:
        pace = self.shop.store.reader.pace(run)
        return 0 if pace is None else int(pace.details.get("bytes_read", 0))

    def most(self) -> float:
        """The most bytes per second that the broker sent in any window."""
        return max(
            (last.sent - first.sent) / (last.after - first.before)
            for first in self.samples
            for last in self.samples
            if last.after - first.before >= WINDOW
        )

    def at_once(self) -> float:
        """Seconds during which every run went on reading."""
        pairs = list(zip(self.samples, self.samples[1:], strict=False))
        moments = [[now.after for former, now in pairs if now.read[n] > former.read[n]] for n in range(len(self.runs))]
        return min(each[-1] for each in moments) - max(each[0] for each in moments)


def contract_of(shop: Shop, hour: int) -> Path:
    contract: dict[str, Any] = deepcopy(CONTRACT)
    times = {"from": f"2025-06-01T{hour:02}:10:00Z", "to": f"2025-06-01T{hour:02}:50:00Z"}
    contract["spec"]["range"] = {"eventTime": times}
    path = shop.contract.with_name(f"hour{hour}.yaml")
    path.write_text(json.dumps(contract))
    return path


@contextmanager
def applied(shop: Shop) -> Iterator[tuple[str, ...]]:
    """`anabranch apply` of the three hours at the same time, when their gates have read; ended at the exit."""
    folder = shop.project_context.folder
    processes: list[Process] = []
    try:
        for hour in HOURS:
            arguments = ("apply", "-f", str(contract_of(shop, hour)))
            processes.append(start_command(folder, f"apply{hour}", *arguments))

        def past_the_gates() -> bool:
            ended = [each.wait() for each in processes if each.popen.poll() is not None]
            assert not ended, ended[0].err
            found = [shop.store.reader.audit(action=f"{ACTION}{kind}") for kind in READS]
            return all(len(each) == len(HOURS) for each in found)

        eventually(past_the_gates, SECONDS)
        yield tuple(run.id for run in shop.store.reader.runs())
    finally:
        for each in processes:
            each.end()


@pytest.mark.long
def test_three_backfills_at_once_stay_within_one_budget(
    new_shop: Callable[..., Shop], kafka: KafkaForTests, spark: SparkForTests
) -> None:
    shop = new_shop(partitions=1)
    in_small_batches(shop, wide(hours(HOURS, each=ORDERS, partitions=1)))
    shop.live()
    section = f"replayBudget: {{bytesPerSecond: {BUDGET}, runs: 3}}\n      spark:"
    settings = {"spark:": section, "local[*,4]": "local[2,4]", "1g": "512m"}
    edit(shop.project_context.folder / "anabranch.yaml", settings)
    broker = BrokerBytes(kafka, spark, shop.topic)
    with applied(shop) as runs:
        measured = Measured(broker, shop, runs)
        with measured.sampled():

            def staged() -> bool:
                states = [shop.store.reader.run(each).state for each in runs]
                assert State.FAILED not in states
                return not {State.PLANNED, State.REPLAYING} & set(states)

            eventually(staged, SECONDS)

    assert measured.at_once() > 10, "they did not read at once"
    assert USED <= measured.most() / BUDGET <= OVERSHOOT
    shares = set()
    for run in runs:
        changes = [json.loads(each.details) for each in shop.store.reader.audit(run_id=run, action=CHANGED)]
        shares |= {each["bytes_per_second"] for each in changes if each["source"] == "budget"} - {STANDSTILL}
    assert BUDGET // 3 in shares, "each had its third"
    assert max(shares) > BUDGET // 3, "what one gave back went to the others"
