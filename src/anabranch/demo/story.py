"""The first part of the demo: a bug, a contract, a replay beside live, a promotion, a rollback, a proof."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from anabranch.adapters.embedded.stack import EmbeddedKafka
from anabranch.adapters.iceberg.target import IcebergTarget
from anabranch.adapters.jvm.artifacts import Progress
from anabranch.adapters.sql.store import SqlRunStore
from anabranch.app.backfill import BackfillRun, submit_contract
from anabranch.app.project_context import ProjectContext, open_project
from anabranch.contract.load import load_pipelines
from anabranch.demo import proof
from anabranch.demo.hourly import HourlyRevenue
from anabranch.demo.live_first import LiveFirst
from anabranch.demo.narrator import Narrator
from anabranch.demo.orders import BEGINNING, SPAN, make_topic, orders, send
from anabranch.demo.scene import (
    FORFEIT_REASON,
    RANGE,
    SceneObserver,
    await_live,
    now,
    replay_and_validate,
    require_same,
)
from anabranch.live.pace import LivePace
from anabranch.live.process import LivePipeline
from anabranch.plan.slices import offsets_in
from anabranch.project.scaffold import plan_project, write_project

EVENTS = 200_000
HISTORY_FACTOR = 12
"""How many times as many orders the last part replays, so that it takes long enough to be measured."""
TRANSFORM = Path("transforms") / "orders.py"
ROLLBACK_REASON = "The demo overrides the rollback authority of the contract."
BUG, FIX = '"GBP": "0.9200"', '"GBP": "1.1700"'


@dataclass
class Story:
    folder: Path
    narrator: Narrator
    events: int = EVENTS
    progress: Progress | None = None

    def __call__(self) -> None:
        """Run the demo from an empty folder. The stack is stopped at the end, also after an error."""
        self._project()
        kafka = EmbeddedKafka(self.folder / ".anabranch", say=self.narrator.detail)
        try:
            kafka.up(progress=self.progress)
            self._acts(open_project(self.folder))
        finally:
            self._stop_live()
            kafka.down()
        self.narrator.end(self.folder)

    def _acts(self, project_context: ProjectContext) -> None:
        self._a_bug_goes_live(project_context)
        self._the_bug_is_found(project_context)
        with self._live_goes_on(project_context) as sent, project_context.store() as store:
            backfill = self._plan_and_replay(project_context, store)
            self._promote_and_prove(backfill, "One atomic commit replaces the range. No data file is rewritten.")
            self._roll_back_and_prove(backfill)
            self._promote_and_prove(backfill, "The same run again: promotion and rollback can be repeated.")
        self._nothing_was_lost(project_context, sent)
        with project_context.store() as store:
            self._close(BackfillRun(project_context, store, backfill.run_id))
        LivePipeline(project_context, "orders").stop()
        HourlyRevenue(self.folder, self.narrator, self.events)()
        LiveFirst(self.folder, self.narrator, self.events * HISTORY_FACTOR)()

    def _project(self) -> None:
        self.narrator.section("Project", f"A new project in {self.folder}: a Kafka broker, Spark and an Iceberg table.")
        shutil.rmtree(self.folder, ignore_errors=True)
        write_project(plan_project(self.folder, "shop"))

    def _a_bug_goes_live(self, project_context: ProjectContext) -> None:
        self._edit(FIX, BUG)
        client = project_context.kafka.client("shop")
        make_topic(client)
        with self.narrator.step(f"Produce {self.events:,} orders of three days, out of order, some of them late."):
            send(client, orders(self.events))
        self.narrator.say("Live converts amounts to euros. It has a bug: pounds are converted at the dollar rate.")
        with self.narrator.step("Start live and wait until its lag is 0."):
            LivePipeline(project_context, "orders").start(LivePace(interval_seconds=1.0))
            await_live(project_context, "orders")

    def _the_bug_is_found(self, project_context: ProjectContext) -> None:
        self.narrator.section("Bug", "Revenue in pounds is too low by a fifth.")
        self._edit(BUG, FIX)
        self.narrator.say("The transform is fixed and live restarted with it. Rows written before are still wrong.")
        with self.narrator.step("Restart live with the fixed code."):
            live = LivePipeline(project_context, "orders")
            live.stop()
            live.start(LivePace(interval_seconds=1.0))

    def _plan_and_replay(self, project_context: ProjectContext, store: SqlRunStore) -> BackfillRun:
        contract = self.folder / "contracts" / "fix-currency.yaml"
        self.narrator.section("Contract", f"{contract.name} states the range, the reason and the checks of the result.")
        run = submit_contract(project_context, store, contract, now=now(), actor="demo")
        backfill = BackfillRun(project_context, store, run.id)
        plan = backfill.plan
        offsets = offsets_in(plan.source.ranges)
        self.narrator.say(
            f"Plan {plan.hash[:12]}: {offsets:,} offsets in {len(plan.slices)} slices replace "
            f"{plan.target.rows:,} rows of {plan.target.table}."
        )
        before = IcebergTarget(project_context.catalog.open(), plan.target.table).head()
        words = "Replay the range into a staging branch while live continues."
        report = replay_and_validate(backfill, self.narrator, words)
        self.narrator.say(
            f"{len(report.results)} checks passed; {sum(b.changed for b in report.buckets)} of {len(report.buckets)} "
            f"hours change. Production unchanged (base snapshot {before})."
        )
        return backfill

    def _promote_and_prove(self, backfill: BackfillRun, words: str) -> None:
        self.narrator.section("Promotion", words)
        with self.narrator.step("Promote."), backfill.lease() as lease:
            backfill.promote(lease, SceneObserver(self.narrator), now())

    def _roll_back_and_prove(self, backfill: BackfillRun) -> None:
        self.narrator.section(
            "Rollback", "One commit restores the former rows of the range and keeps later commits of live."
        )
        with self.narrator.step("Roll back."), backfill.lease() as lease:
            backfill.roll_back(lease, ROLLBACK_REASON)

    def _nothing_was_lost(self, project_context: ProjectContext, sent: list[int]) -> None:
        self.narrator.section("Proof", "A plain consumer reads the whole topic, and plain Python recomputes every row.")
        with self.narrator.step("Compare production with the recomputed rows."):
            await_live(project_context, "orders")
            wanted = proof.expected(project_context.kafka.client("proof"), RANGE, self.events)
            table = project_context.catalog.open().load_table("shop.orders")
            have = proof.found(table)
        require_same(wanted, have)
        self.narrator.say(
            f"{have.total():,} rows, each exactly once: corrected in the range, unchanged outside it. None of the "
            f"{sum(sent):,} orders that live read during the backfill is lost."
        )

    def _close(self, backfill: BackfillRun) -> None:
        words = "Close the run before the end of its rollback horizon, with a recorded reason."
        with self.narrator.step(words), backfill.lease() as lease:
            record = backfill.close(lease, now(), forfeit=FORFEIT_REASON)
        isolation = record["isolation"]
        self.narrator.say(
            f"Isolation certificate: {isolation['verdict']}. It compares consumer groups, their offsets and ACLs."
            if isinstance(isolation, dict)
            else ""
        )
        self.narrator.page(backfill.folder / "validation.html")

    @contextmanager
    def _live_goes_on(self, project_context: ProjectContext) -> Iterator[list[int]]:
        """Produces orders while the backfill runs, some of them days late and so inside the range."""
        stop, sent = threading.Event(), [0]
        client = project_context.kafka.client("shop")

        def sell() -> None:
            while not stop.wait(0.5):
                beginning = RANGE[0] if sent[0] % 400 else BEGINNING + SPAN
                first = self.events + sent[0]
                sent[0] += send(client, orders(100, first=first, beginning=beginning, span=timedelta(minutes=10)))

        seller = threading.Thread(target=sell, name="shop")
        seller.start()
        try:
            yield sent
        finally:
            stop.set()
            seller.join()

    def _stop_live(self) -> None:
        for pipeline in load_pipelines(open_project(self.folder).loaded):
            LivePipeline(open_project(self.folder), pipeline).stop()

    def _edit(self, former: str, new: str) -> None:
        path = self.folder / TRANSFORM
        path.write_text(path.read_text().replace(former, new))
