"""The course of a rehearsal: what counts, how long it rests, what a failure leaves. On plain values and a store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from tests.unit.plan.world import World, hourly

from anabranch.adapters.sql.store import SqlRunStore, open_store
from anabranch.errors import AnabranchError
from anabranch.gates.checks.rollback import RehearsedRollback
from anabranch.gates.evidence import newest_evidence
from anabranch.plan.forecast.rehearsed import STAGES
from anabranch.plan.planner import Planned
from anabranch.plan.slices import Slice
from anabranch.readiness.rehearse import Rehearsal, RehearsalFailedError
from anabranch.replay.replayer import SliceDone, SlicePhase, SliceProgress, SliceWriter
from anabranch.replay.slice_ledger import SliceLedger
from anabranch.replay.staging import Staging
from anabranch.runs.heads import Head

NOW = datetime(2025, 7, 1, tzinfo=timezone.utc)
SLICE_SECONDS, BYTES = 2.0, 1000


@dataclass
class Stand:
    """A writer and tools whose every slice takes two seconds of a clock that only they and `sleep` move."""

    planned: Planned
    fails: bool = False
    now: float = 0.0
    rests: list[float] = field(default_factory=list)
    written: list[str] = field(default_factory=list)
    begun: list[str] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.rests.append(seconds)
        self.now += seconds

    # the writer of a replay
    def limit(self, bytes_per_second: int | None) -> None: ...
    def prepare(self, slice_: Slice) -> None: ...
    def await_read(self, slice_: Slice) -> None: ...

    def progress(self, slice_: Slice) -> SliceProgress:
        return SliceProgress(SlicePhase.READ, 0, slice_.width, 0)

    def prefetch(self, slice_: Slice) -> None:
        self.begun.append(slice_.id)

    def discard_prefetched(self) -> None:
        self.calls.append("let go")

    def write(self, slice_: Slice, staging: Staging) -> SliceDone:
        if self.fails:
            raise AnabranchError("No such rate.", state="All.", hint="none")
        self.written.append(slice_.id)
        self.now += SLICE_SECONDS
        return SliceDone(Head(str(1)), SliceLedger(BYTES, {}))

    # the tools
    def remove_branches(self) -> None:
        self.calls.append("remove")

    def make_branch(self) -> None:
        self.calls.append("branch")
        self.now += 0.5

    def staging(self) -> Staging:
        return Staging("rehearsal", 1, "scratch", Head("7"), self.planned.plan.target.partitions)

    def head(self, staging: Staging) -> Head:
        return Head("8")

    def writer(self) -> SliceWriter:
        return self

    def live(self) -> Stand:
        return self

    def log_ends(self) -> dict[int, int]:
        return {0: 10}

    def of_group(self) -> dict[int, int]:
        return {0: 4}

    def of_table(self) -> dict[int, int]:
        raise AssertionError("the group has a position")

    def observe_inputs(self) -> None:
        self.calls.append("inputs")

    def time_stages(
        self,
        slice_: Slice,
        staging: Staging,
        clock: Callable[[], float],
        write: Callable[[], float],
        commit: float,
    ) -> dict[str, float]:
        assert commit == 0.5
        whole = write()
        return {stage: whole if stage == "decode" else 0.0 for stage in STAGES}

    def validation(self, head: Head) -> Callable[[], float]:
        assert head == Head("8")
        seconds = iter((30.0, 4.0))

        def validate() -> float:
            self.now += next(seconds)
            return 2e6

        return validate

    def rehearse_rollback(self, head: Head, clock: Callable[[], float]) -> RehearsedRollback:
        return RehearsedRollback(1, 1, 0.1, 0.2, True, True)

    def cores(self) -> int:
        return 2


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqlRunStore]:
    with open_store(f"sqlite:///{tmp_path / 'runs.db'}") as opened:
        yield opened


def rehearsal(stand: Stand, store: SqlRunStore, **given: Any) -> Rehearsal:
    planned = stand.planned
    return Rehearsal(
        stand,
        store,
        planned.plan,
        planned.request.backfill,
        planned.request.pipeline,
        "ann",
        clock=stand.clock,
        sleep=stand.sleep,
        **given,
    )


def test_what_is_measured_is_recorded_and_the_branch_is_removed(world: World, store: SqlRunStore) -> None:
    stand = Stand(world.plan([hourly(60)]))
    found, evidence = rehearsal(stand, store)(NOW)
    assert found.commit_seconds == 0.5
    assert found.validate_seconds_per_million_rows == 2.0, "the second validation counts"
    assert found.bottleneck == "decode"
    assert (found.live_lag_with, found.live_lag_without) == (6, 6)
    assert found.bytes_per_second == BYTES / SLICE_SECONDS, "rests do not count"
    assert found.bytes < BYTES * len(stand.written), "neither does the warm-up"
    assert stand.calls[:2] == ["remove", "branch"]
    assert stand.calls[-1] == "remove"
    assert newest_evidence(store.reader, "rehearsal", f"contract/{stand.planned.plan.contract}") == evidence


def test_next_slices_are_read_ahead_and_the_replay_rests_after_each_burst(world: World, store: SqlRunStore) -> None:
    stand = Stand(world.plan([hourly(60)]))
    rehearsal(stand, store)(NOW)
    assert len(stand.begun) > len(stand.written), "a slice is begun again with each look ahead"
    assert stand.rests
    assert all(SLICE_SECONDS <= each <= 15.0 for each in stand.rests)


def test_one_that_fails_leaves_no_branch_and_no_evidence(world: World, store: SqlRunStore) -> None:
    stand = Stand(world.plan([hourly(60)]), fails=True)
    with pytest.raises(RehearsalFailedError, match="No such rate") as failed:
        rehearsal(stand, store)(NOW)
    assert isinstance(failed.value.__cause__, AnabranchError)
    assert stand.calls[-2:] == ["let go", "remove"]
    assert newest_evidence(store.reader, "rehearsal", f"contract/{stand.planned.plan.contract}") is None
