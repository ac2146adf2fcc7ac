"""Live of every class with state as a process of its own, killed in the middle of its work and started again."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import count, islice
from pathlib import Path

import pytest
from tests.conformance.classes.kinds import ORDERED, UPSERT, WINDOWED, Kind
from tests.conformance.classes.scene import Bank
from tests.fixtures.broker import KafkaForTests, eventually
from tests.fixtures.properties import examples
from tests.scenarios.backfills import open_scene

from anabranch.adapters.iceberg.live import last_live_commit
from anabranch.live.errors import DidNotStartError
from anabranch.live.pace import LivePace
from anabranch.live.process import LivePipeline, StopOutcome
from anabranch.live.status import LiveState

PATIENCE = 600.0
PACE = LivePace(0.2, 40)
"""So that what is produced at a time is two batches."""
POINTS = ("live.commit.after:2", "live.commit.before:2", "live.group.before", "live.quarantine.after:2")
pytestmark = [pytest.mark.long, pytest.mark.spark, pytest.mark.kafka, pytest.mark.timeout(3000)]


class Process:
    """Live of one bank."""

    def __init__(self, folder: Path, kafka: KafkaForTests, kind: Kind) -> None:
        topic = Bank.write(folder, kafka, kind)
        self.bank = Bank(open_scene(folder), kafka, topic, kind)
        self.live = LivePipeline(self.bank.project_context, Bank.pipeline_name)

    def die(self) -> None:
        """Start with an appointment, and wait until it is dead."""
        with suppress(DidNotStartError):  # it may be dead before we have looked
            self.live.start(PACE, patience=PATIENCE)
        eventually(lambda: self.live.status().state is LiveState.DIED, PATIENCE)

    def catch_up(self) -> None:
        """Until the table holds what plain Python makes of the topic."""
        self.live.start(PACE, patience=PATIENCE)
        self.bank.batches = [(self.bank.ends(), True)]
        wanted = self.bank.expected()

        def all_read() -> bool:
            assert self.live.status().state is LiveState.RUNNING, self.live.status().as_dict()
            last = last_live_commit(self.bank.table(), self.bank.pipeline_name)
            return last is not None and last.position == self.bank.position

        eventually(all_read, PATIENCE)
        eventually(lambda: self.bank.rows() == wanted)  # windows close with a batch of their own
        assert self.live.stop(patience=PATIENCE) is StopOutcome.AT_BATCH_BOUNDARY


@pytest.fixture
def processes(kafka: KafkaForTests, tmp_path: Path) -> Iterator[list[Process]]:
    """All at once: each JVM waits much while it starts."""
    made = [Process(tmp_path / kind.name, kafka, kind) for kind in (UPSERT, ORDERED, WINDOWED)]
    yield made
    for each in made:
        each.live.stop(patience=0)


def test_killed_and_started_again_nothing_is_lost_and_nothing_twice(
    processes: list[Process], monkeypatch: pytest.MonkeyPatch
) -> None:
    hours = count()

    def produce() -> None:
        for hour in islice(hours, 2):
            for each in processes:
                each.bank.produce(hour, 30, seed=hour)

    with ThreadPoolExecutor(len(processes)) as pool:
        for point in POINTS[: examples(usual=1, soak=4)]:
            produce()
            monkeypatch.setenv("ANABRANCH_CRASH_AT", point)
            list(pool.map(Process.die, processes))
        monkeypatch.delenv("ANABRANCH_CRASH_AT")
        produce()
        list(pool.map(Process.catch_up, processes))
    for each in processes:
        assert each.bank.rows() == each.bank.expected(), each.bank.kind.name
        assert each.bank.rows(), "there is something in it"
