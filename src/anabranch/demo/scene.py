"""Shared by both parts of the demo: waiting for live, progress of a replay, and checks whose failure ends the demo."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timezone
from typing import Any

from anabranch.app.backfill import BackfillRun
from anabranch.app.project_context import ProjectContext
from anabranch.demo.narrator import Narrator
from anabranch.errors import AnabranchError
from anabranch.live.process import LivePipeline
from anabranch.plan.slices import Slice
from anabranch.replay.replayer import SliceDone, SliceProgress
from anabranch.validate.report import Report, Verdict

# As contracts/fix-currency.yaml of a new project has it.
RANGE = (datetime(2025, 6, 2, tzinfo=timezone.utc), datetime(2025, 6, 2, 12, tzinfo=timezone.utc))

FORFEIT_REASON = "End of the demo."


class StoryError(AnabranchError):
    """A check of the demo failed. The command ends with exit code 1."""

    code = "demo.check-failed"

    def __init__(self, what: str) -> None:
        super().__init__(
            f"Demo check failed: {what}.",
            state="Only the demo's own folder was written. It is kept.",
            command="anabranch demo --verbose",
            hint="if it fails again, report it with its output",
        )


class SceneObserver:
    """Prints the progress of a replay as details."""

    def __init__(self, narrator: Narrator) -> None:
        self._narrator = narrator

    def phase(self, words: str) -> None:
        """Not printed: the demo names its own steps."""

    def remaining(self, slices: Sequence[Slice]) -> None:
        """Not printed: each slice is printed when it is committed."""

    def slice_progress(self, slice_: Slice, progress: SliceProgress) -> None:
        """Not printed: a slice of the demo takes about a second."""

    def slice_done(self, slice_: Slice, done: SliceDone, seconds: float) -> None:
        rows = sum(account.rows for account in done.ledger.accounts.values())
        self._narrator.detail(f"slice {slice_.id}: {slice_.width:,} offsets, {rows:,} rows, {seconds:.1f} s")

    def resting(self, seconds: float, reason: str) -> None:
        self._narrator.detail(f"{reason}: {seconds:.1f} s")

    def notice(self, words: str) -> None:
        self._narrator.detail(words)

    def interrupted(self) -> bool:
        return False


def require_same(wanted: Counter[Any], have: Counter[Any]) -> None:
    """Raises unless production has every expected row exactly as often as expected, and no other row."""
    if wanted != have:
        raise StoryError(f"{(wanted - have).total():,} rows missing, {(have - wanted).total():,} unexpected rows")


def now() -> datetime:
    return datetime.now(timezone.utc)


def await_live(project_context: ProjectContext, pipeline: str, patience: float = 180.0) -> None:
    live = LivePipeline(project_context, pipeline)
    deadline = time.monotonic() + patience
    while (lag := live.status().lag) is None or lag.total:
        if time.monotonic() > deadline:
            raise StoryError(f"live {pipeline} did not catch up: {lag}")
        time.sleep(0.5)


def replay_and_validate(backfill: BackfillRun, narrator: Narrator, words: str) -> Report:
    with backfill.lease() as lease:
        with narrator.step(words):
            backfill.replay(lease, SceneObserver(narrator))
        with narrator.step("Validate staging."):
            report = backfill.validate(lease, now()).report
    if report.verdict is not Verdict.ACCEPTED:
        raise StoryError(f"validation rejected: {[result.check for result in report.failed]}")
    return report
