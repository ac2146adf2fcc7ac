"""What both acts of the demo share: live is waited for, progress is told, and a check that fails ends the story."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timezone
from typing import Any

from anabranch.app.backfill import BackfillRun
from anabranch.app.project_context import ProjectContext
from anabranch.demo.words import Teller
from anabranch.errors import AnabranchError
from anabranch.live.process import LivePipeline
from anabranch.plan.slices import Slice
from anabranch.replay.replayer import SliceDone, SliceProgress
from anabranch.validate.report import Report, Verdict

# As contracts/fix-currency.yaml of a new project has it.
RANGE = (datetime(2025, 6, 2, tzinfo=timezone.utc), datetime(2025, 6, 2, 12, tzinfo=timezone.utc))

FORFEIT_REASON = "The demo is over, and its table with it."


class StoryError(AnabranchError):
    """The demo's own check failed: what it says would not be true. The command ends with exit code 1."""

    code = "demo.not-as-told"

    def __init__(self, what: str) -> None:
        super().__init__(
            f"The demo did not come out as it should: {what}.",
            state="Only the demo's own folder was written; it is kept as it is, for a look.",
            hint="anabranch demo --verbose; if it fails again, report it with what it prints",
        )


class SceneObserver:
    """Progress of the replay in the teller's voice."""

    def __init__(self, teller: Teller) -> None:
        self._teller = teller

    def phase(self, words: str) -> None:
        """The teller says it in sentences of its own."""

    def remaining(self, slices: Sequence[Slice]) -> None:
        """Each is told when it is done."""

    def slice_progress(self, slice_: Slice, progress: SliceProgress) -> None:
        """Its slices take a second."""

    def slice_done(self, slice_: Slice, done: SliceDone, seconds: float) -> None:
        rows = sum(account.rows for account in done.ledger.accounts.values())
        self._teller.aside(f"slice {slice_.id}: {slice_.width:,} offsets, {rows:,} rows, {seconds:.1f} s")

    def resting(self, seconds: float, reason: str) -> None:
        self._teller.aside(f"{reason}: {seconds:.1f} s")

    def notice(self, words: str) -> None:
        self._teller.aside(words)

    def interrupted(self) -> bool:
        return False


def require_same(wanted: Counter[Any], have: Counter[Any]) -> None:
    """The proof: production has every expected row as often as it should, and no other."""
    if wanted != have:
        raise StoryError(f"{(wanted - have).total():,} rows missing, {(have - wanted).total():,} rows too many")


def now() -> datetime:
    return datetime.now(timezone.utc)


def await_live(project_context: ProjectContext, pipeline: str, patience: float = 180.0) -> None:
    live = LivePipeline(project_context, pipeline)
    deadline = time.monotonic() + patience
    while (lag := live.status().lag) is None or lag.total:
        if time.monotonic() > deadline:
            raise StoryError(f"live {pipeline} did not catch up: {lag}")
        time.sleep(0.5)


def replay_and_validate(backfill: BackfillRun, teller: Teller, words: str) -> Report:
    with backfill.lease() as lease:
        with teller.doing(words):
            backfill.replay(lease, SceneObserver(teller))
        with teller.doing("Staging is validated."):
            report = backfill.validate(lease, now())
    if report.verdict is not Verdict.ACCEPTED:
        raise StoryError(f"validation rejected: {[result.check for result in report.failed]}")
    return report
