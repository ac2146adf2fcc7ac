"""The second part of the demo: revenue per hour with a wrong window, replayed from a checkpoint of live's state."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from anabranch.adapters.sql.store import SqlRunStore
from anabranch.app.backfill import BackfillRun, submit_contract
from anabranch.app.project_context import ProjectContext, open_project
from anabranch.demo import proof
from anabranch.demo.narrator import Narrator
from anabranch.demo.scene import FORFEIT_REASON, RANGE, SceneObserver, StoryError, await_live, now, replay_and_validate
from anabranch.live.pace import LivePace
from anabranch.live.process import LivePipeline
from anabranch.project.quantities import format_moment

PIPELINE = "revenue"
PLACES = {
    "revenue.yaml": Path("pipelines") / "revenue.yaml",
    "revenue.py.in": Path("hourly") / "revenue.py",
    "fix-revenue.yaml": Path("contracts") / "fix-revenue.yaml",
}
TRANSFORM = PLACES["revenue.py.in"]
BUG, FIX = "MINUTES_OF_AN_HOUR = 50", "MINUTES_OF_AN_HOUR = 60"
BATCHES = 5


@dataclass(frozen=True)
class HourlyRevenue:
    folder: Path
    narrator: Narrator
    events: int
    """Orders in the topic when the demo began. Later ones are too late for their hours."""

    def __call__(self) -> None:
        for name, place in PLACES.items():
            text = (files("anabranch.demo") / "hourly_revenue" / name).read_text()
            (self.folder / place).parent.mkdir(exist_ok=True)
            (self.folder / place).write_text(text.replace(FIX, BUG))
        project_context = open_project(self.folder)
        self._live_counts_wrongly(project_context)
        with project_context.store() as store:
            backfill = self._from_a_checkpoint(project_context, store)
            self._promote_and_prove(project_context, backfill)
            with backfill.lease() as lease:
                backfill.close(lease, now(), forfeit=FORFEIT_REASON)

    def _live_counts_wrongly(self, project_context: ProjectContext) -> None:
        self.narrator.section(
            "Stateful pipeline",
            "A second pipeline sums revenue per hour. Open hours are in its state; an hour is written once, after its "
            "watermark. It has a bug: orders after minute 50 are not counted.",
        )
        live = LivePipeline(project_context, PIPELINE)
        with self.narrator.step("Start live and wait until its lag is 0."):
            live.start(LivePace(interval_seconds=0.5, max_offsets=self.events // BATCHES))
            await_live(project_context, PIPELINE)
        live.stop()

    def _from_a_checkpoint(self, project_context: ProjectContext, store: SqlRunStore) -> BackfillRun:
        path = self.folder / TRANSFORM
        path.write_text(path.read_text().replace(BUG, FIX))
        run = submit_contract(project_context, store, self.folder / PLACES["fix-revenue.yaml"], now=now(), actor="demo")
        backfill = BackfillRun(project_context, store, run.id)
        self.narrator.say(
            f"The code is fixed. The plan starts from {_start(backfill)}, replays live's batches and stops when the "
            "last window of the range is closed."
        )
        replay_and_validate(backfill, self.narrator, "Replay live's batches into a staging branch.")
        return backfill

    def _promote_and_prove(self, project_context: ProjectContext, backfill: BackfillRun) -> None:
        with self.narrator.step("Promote."), backfill.lease() as lease:
            backfill.promote(lease, SceneObserver(self.narrator), now())
        with self.narrator.step("Recompute every hour in plain Python and compare."):
            wanted = proof.expected_hours(project_context.kafka.client("proof"), RANGE, self.events)
            have = proof.found_hours(project_context.catalog.open().load_table("shop.revenue"))
        inside = {hour: sums for hour, sums in have.items() if RANGE[0] <= hour[0] < RANGE[1]}
        if any(wanted[hour] != sums for hour, sums in have.items()) or len(inside) != proof.hours_of(wanted, RANGE):
            wrong = [hour for hour, sums in have.items() if wanted[hour] != sums]
            raise StoryError(f"{len(wrong)} wrong hours, the first {wrong[:1]}; {len(inside)} hours in the range")
        self.narrator.say(
            f"{len(have):,} rows of hour and currency: {len(inside):,} in the range corrected, the others unchanged."
        )


def _start(backfill: BackfillRun) -> str:
    """The start of the replay in words. With few orders no checkpoint is early enough."""
    start = backfill.plan.stream
    if start is None:
        raise StoryError("the plan does not replay as a stream")
    if start.checkpoint is None:
        return "live's first batch"
    return f"live's checkpoint after batch {start.batch}, before {format_moment(RANGE[0])}"
