"""Three backfills at once stay within one budget: bytes over half a minute, as the Kafka consumers count them."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from threading import Event, Thread
from typing import Any

import pytest

from anabranch.app.backfill import BackfillRun
from anabranch.contract.consumer_groups import REPLAY_PREFIX
from anabranch.replay.allowance import STANDSTILL
from anabranch.replay.pacing import CHANGED
from anabranch.replay.replayer import ReplayEnd
from tests.scenarios.backfills import Onlooker, edit
from tests.scenarios.shop import CONTRACT, Shop, hours
from tests.scenarios.test_rate_limit import Consumers, in_small_batches, replay, wide

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

BUDGET = 120_000
WINDOW = 30.0
OVERSHOOT = 1.05
USED = 0.6
"""Of the budget, in the best half minute, on a machine that may have other work to do."""


@dataclass
class Together:
    """What several runs have received from the broker, sampled in a thread."""

    consumers: Sequence[Consumers]
    samples: list[tuple[float, float, tuple[int, ...]]] = field(default_factory=list)
    """Before and after the reading, and the bytes of each run."""

    @contextmanager
    def sampled(self) -> Iterator[None]:
        ended = Event()
        received, last = [0] * len(self.consumers), [0] * len(self.consumers)

        def sample() -> None:
            while not ended.wait(0.1):
                before = time.monotonic()
                for number, each in enumerate(self.consumers):
                    now = each.received()
                    # A consumer with other fetch sizes takes the place of the one before and counts from nothing.
                    received[number] += now - last[number] if now >= last[number] else now
                    last[number] = now
                self.samples.append((before, time.monotonic(), tuple(received)))

        thread = Thread(target=sample, daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def most(self) -> float:
        """The most bytes per second of all together in any window."""
        return max(
            (sum(last) - sum(first)) / (after - before)
            for before, _, first in self.samples
            for _, after, last in self.samples
            if after - before >= WINDOW
        )

    def at_once(self) -> float:
        """Seconds during which every run went on receiving."""
        moments = [
            [
                after
                for (_, _, former), (_, after, now) in zip(self.samples, self.samples[1:], strict=False)
                if now[n] > former[n]
            ]
            for n in range(len(self.consumers))
        ]
        return min(each[-1] for each in moments) - max(each[0] for each in moments)


def of_hour(shop: Shop, hour: int) -> BackfillRun:
    contract: dict[str, Any] = deepcopy(CONTRACT)
    times = {"from": f"2025-06-01T{hour:02}:10:00Z", "to": f"2025-06-01T{hour:02}:50:00Z"}
    contract["spec"]["range"] = {"eventTime": times}
    shop.contract.write_text(json.dumps(contract))
    return shop.plan(slices=2)


@pytest.mark.long
def test_three_backfills_at_once_stay_within_one_budget(new_shop: Callable[..., Shop]) -> None:
    shop = new_shop(partitions=1)
    in_small_batches(shop, wide(hours(each=300, partitions=1)))
    shop.live()
    section = f"replayBudget: {{bytesPerSecond: {BUDGET}, runs: 3}}\n      spark:"
    edit(shop.project_context.folder / "anabranch.yaml", {"spark:": section})
    runs = [of_hour(shop, hour) for hour in (0, 2, 4)]
    together = Together([Consumers(shop, f"{REPLAY_PREFIX}-{run.run_id}") for run in runs])
    with together.sampled(), ThreadPoolExecutor(len(runs)) as at_once:
        ends = list(at_once.map(lambda run: replay(run, Onlooker()), runs))

    assert ends == [ReplayEnd.STAGED] * 3
    assert together.at_once() > 10, "they did not read at once"
    assert BUDGET * USED <= together.most() <= BUDGET * OVERSHOOT
    shares = set()
    for run in runs:
        changes = [json.loads(each.details) for each in shop.store.reader.audit(run_id=run.run_id, action=CHANGED)]
        shares |= {each["bytes_per_second"] for each in changes if each["source"] == "budget"} - {STANDSTILL}
    assert BUDGET // 3 in shares, "each had its third"
    assert max(shares) > BUDGET // 3, "what one gave back went to the others"
