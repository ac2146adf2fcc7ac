"""The governor on the real stack: live as a process of its own at a steady rate, and a replay beside it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from threading import Event, Thread
from typing import Any

import pytest

from anabranch.adapters.live_files import LiveFiles
from anabranch.app.project_context import open_project
from anabranch.live.pace import LivePace
from anabranch.live.process import LivePipeline
from anabranch.replay.controls import ControlRequest
from anabranch.replay.pace_report import pace_document, pace_lines
from anabranch.replay.replayer import ReplayEnd
from anabranch.replay.staged import StagedRun, StoppedReplay
from tests.fixtures.broker import eventually
from tests.scenarios.backfills import JUNE, Onlooker, edit
from tests.scenarios.shop import Shop, hours, order

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.long, pytest.mark.timeout(900)]

PATIENCE = 240.0
MINIMUM = 20_000
GOVERNOR = (
    f"governor: {{tick: 1s, minimumRate: {MINIMUM}, referenceRate: 200kB, lag: 4s, lagLimit: 8s, latencyRatio: 50.0, "
    "batchRatio: 50.0, lostHold: 2s, lostMinimum: 4s, lostPause: 8s}\n      "
)
"""Quick enough for a test. Latency and batches are left aside: on a busy machine they vary."""
PACE = LivePace(0.5, 2_000)
BURST = 40_000
LASTING = 60_000
"""The contract's rate, at which the replay does not end before the test."""


@dataclass
class Replay:
    """A replay in a thread, and what its process notes of its pace."""

    shop: Shop
    run_id: str
    ended: list[StagedRun | StoppedReplay | Exception] = field(default_factory=list)
    watch: Onlooker = field(default_factory=Onlooker)

    def __call__(self) -> None:
        run = self.shop.again(self.run_id)
        try:
            with run.lease() as lease:
                self.ended.append(run.replay(lease, self.watch))
        except Exception as error:  # the test shows it
            self.ended.append(error)

    def pace(self) -> Mapping[str, Any]:
        noted = self.shop.store.reader.pace(self.run_id)
        return {} if noted is None else noted.details

    @property
    def governor(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.pace().get("governor", {})
        return found

    def until(self, wanted: Callable[[Mapping[str, Any]], bool]) -> Mapping[str, Any]:
        """What is noted once it is as wanted. In all of it, a pressure above 2 comes with the lowest rate."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            assert not self.ended, self.ended
            governor = self.governor
            if governor.get("signals") and governor["signals"][0]["pressure"] > 2:
                assert governor["allows"] == MINIMUM, governor
            if governor and wanted(governor):
                return governor
            time.sleep(0.2)
        raise AssertionError(f"last seen: {self.pace()}")


@contextmanager
def steadily(shop: Shop) -> Iterator[None]:
    """A hundred orders a second, of an hour that is not replayed."""
    stop = Event()

    def sell() -> None:
        number = 10_000_000
        while not stop.wait(0.2):
            shop.kafka.produce(shop.topic, [order(number + n, JUNE + timedelta(hours=5)) for n in range(20)])
            number += 20

    thread = Thread(target=sell, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


@pytest.fixture
def live(new_shop: Callable[..., Shop]) -> Iterator[tuple[Shop, LivePipeline]]:
    shop = new_shop()
    edit(shop.project_context.folder / "anabranch.yaml", {"spark": f"{GOVERNOR}spark"})
    edit(shop.contract, {'"range"': f'"budget": {{"bytesPerSecond": {LASTING}}}, "range"'})
    shop.produce(hours(range(2, 4), each=40_000))
    pipeline = LivePipeline(open_project(shop.project_context.folder, "dev"), "orders")
    pipeline.start(PACE, patience=PATIENCE)
    eventually(lambda: (lag := pipeline.status().lag) is not None and lag.total == 0, PATIENCE)
    yield shop, pipeline
    pipeline.stop(patience=0)


def test_a_replay_yields_to_live_and_recovers_by_itself(live: tuple[Shop, LivePipeline]) -> None:
    shop, _ = live
    with steadily(shop):
        replay = Replay(shop, shop.plan(slices=40).run_id)
        thread = Thread(target=replay)
        thread.start()
        try:
            risen = replay.until(lambda seen: (seen["allows"] or 0) > 2 * MINIMUM)
            assert risen["live"] == "its driver runs on this machine"
            assert {each["signal"] for each in risen["signals"]} >= {"lag"}

            # A step in live's load: live takes 2,000 records a batch.
            shop.kafka.produce(shop.topic, [order(n, JUNE + timedelta(hours=5)) for n in range(BURST)])
            pressed = replay.until(lambda seen: seen["allows"] == MINIMUM)
            assert "live lag" in pressed["reason"]
            assert pressed["signals"][0]["pressure"] > 1

            replay.until(lambda seen: (seen["allows"] or 0) > MINIMUM)

            # A signal that can't be read.
            files = LiveFiles(shop.project_context.state, "orders")
            record = files.record.read_text()
            files.record.write_text("[]")
            try:
                replay.until(lambda seen: seen["allows"] == MINIMUM and not seen["paused"])
                held = replay.until(lambda seen: seen["paused"])
                assert "driver could not be read" in held["reason"]
                assert "driver" in held["silent"]
            finally:
                files.record.write_text(record)
            replay.until(lambda seen: not seen["paused"] and seen["allows"] > MINIMUM)

            run = shop.store.reader.run(replay.run_id)
            shown = "\n".join(pace_lines(pace_document(shop.store.reader.pace(run.id), run.state)))
            assert "governor  " in shown
            assert "signal    lag: " in shown
        finally:
            shop.store.writer.record_act(ControlRequest.CANCEL.value, actor="ann", run_id=replay.run_id)
            thread.join(PATIENCE)
    [stopped] = replay.ended
    assert isinstance(stopped, StoppedReplay), stopped
    assert stopped.end is ReplayEnd.CANCELLED
    changes = shop.store.reader.audit(run_id=replay.run_id, action="pace.changed")
    assert len(changes) > 5
