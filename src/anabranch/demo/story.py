"""The story of one backfill, told in the terminal: a bug, a contract, a replay beside live, a promotion, a way back."""

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
from anabranch.demo.words import Teller
from anabranch.live.pace import LivePace
from anabranch.live.process import LivePipeline
from anabranch.plan.slices import offsets_in
from anabranch.project.scaffold import plan_project, write_project

EVENTS = 200_000
TRANSFORM = Path("transforms") / "orders.py"
ROLLBACK_REASON = "The demo rolls back without the on-call engineer that the contract names."
BUG, FIX = '"GBP": "0.9200"', '"GBP": "1.1700"'


@dataclass
class Story:
    folder: Path
    teller: Teller
    events: int = EVENTS
    progress: Progress | None = None

    def __call__(self) -> None:
        """Tell it from the beginning, in a folder of its own. The stack is taken down at the end, whatever happens."""
        self._project()
        kafka = EmbeddedKafka(self.folder / ".anabranch", say=self.teller.aside)
        try:
            kafka.up(progress=self.progress)
            self._acts(open_project(self.folder))
        finally:
            self._stop_live()
            kafka.down()
        self.teller.end(self.folder)

    def _acts(self, project_context: ProjectContext) -> None:
        self._a_bug_goes_live(project_context)
        self._the_bug_is_found(project_context)
        with self._live_goes_on(project_context) as sent, project_context.store() as store:
            backfill = self._plan_and_replay(project_context, store)
            self._promote_and_prove(backfill, "The run is joined into production: one commit, no data file rewritten.")
            self._roll_back_and_prove(backfill)
            self._promote_and_prove(backfill, "And once more: promotion and rollback work any number of times.")
        self._nothing_was_lost(project_context, sent)
        with project_context.store() as store:
            self._close(BackfillRun(project_context, store, backfill.run_id))
        LivePipeline(project_context, "orders").stop()
        HourlyRevenue(self.folder, self.teller, self.events)()

    def _project(self) -> None:
        self.teller.act("A shop", f"A project in {self.folder}: a real Kafka broker, Spark and an Iceberg table.")
        shutil.rmtree(self.folder, ignore_errors=True)
        write_project(plan_project(self.folder, "shop"))

    def _a_bug_goes_live(self, project_context: ProjectContext) -> None:
        self._edit(FIX, BUG)
        client = project_context.kafka.client("shop")
        make_topic(client)
        with self.teller.doing(f"The shop sends {self.events:,} orders of three days, out of order, some late."):
            send(client, orders(self.events))
        self.teller.say("Live converts them to euros, pounds at the dollar's rate by mistake. Nobody has noticed.")
        with self.teller.doing("Live is started, and catches up."):
            LivePipeline(project_context, "orders").start(LivePace(interval_seconds=1.0))
            await_live(project_context, "orders")

    def _the_bug_is_found(self, project_context: ProjectContext) -> None:
        self.teller.act("A bug", "Somebody looks at the revenue in pounds. It is too low by a fifth.")
        self._edit(BUG, FIX)
        self.teller.say("The transform is mended, and live is restarted with it. The past is still wrong.")
        with self.teller.doing("Live goes on with the mended code."):
            live = LivePipeline(project_context, "orders")
            live.stop()
            live.start(LivePace(interval_seconds=1.0))

    def _plan_and_replay(self, project_context: ProjectContext, store: SqlRunStore) -> BackfillRun:
        contract = self.folder / "contracts" / "fix-currency.yaml"
        self.teller.act("A contract", f"{contract.name} says what is to be replayed, why, and what must be true after.")
        run = submit_contract(project_context, store, contract, now=now(), actor="demo")
        backfill = BackfillRun(project_context, store, run.id)
        plan = backfill.plan
        offsets = offsets_in(plan.source.ranges)
        self.teller.say(
            f"The plan is {plan.hash[:12]}: {offsets:,} offsets in {len(plan.slices)} slices, "
            f"{plan.target.rows:,} rows of {plan.target.table} to be replaced."
        )
        before = IcebergTarget(project_context.catalog.open(), plan.target.table).head()
        words = "History is replayed beside production, into staging, while live goes on."
        report = replay_and_validate(backfill, self.teller, words)
        self.teller.say(
            f"{len(report.results)} checks held; {sum(b.changed for b in report.buckets)} of "
            f"{len(report.buckets)} hours change. Readers of production saw nothing of it (base {before})."
        )
        return backfill

    def _promote_and_prove(self, backfill: BackfillRun, words: str) -> None:
        self.teller.act("Promotion", words)
        with self.teller.doing("Promoting."), backfill.lease() as lease:
            backfill.promote(lease, SceneObserver(self.teller), now())

    def _roll_back_and_prove(self, backfill: BackfillRun) -> None:
        self.teller.act("A way back", "Rolled back: the former rows of the range return, what live wrote since stays.")
        with self.teller.doing("Rolling back."), backfill.lease() as lease:
            backfill.roll_back(lease, ROLLBACK_REASON)

    def _nothing_was_lost(self, project_context: ProjectContext, sent: list[int]) -> None:
        self.teller.act("The proof", "A plain consumer reads all of Kafka, plain Python recomputes every row.")
        with self.teller.doing("Counting."):
            await_live(project_context, "orders")
            wanted = proof.expected(project_context.kafka.client("proof"), RANGE, self.events)
            table = project_context.catalog.open().load_table("shop.orders")
            have = proof.found(table)
        require_same(wanted, have)
        self.teller.say(
            f"{have.total():,} rows, each exactly once: right inside the range, untouched outside it, and none of the "
            f"{sum(sent):,} orders lost that live took in meanwhile."
        )

    def _close(self, backfill: BackfillRun) -> None:
        words = "The run is closed before its rollback horizon is over, by a reason on record; its record is kept."
        with self.teller.doing(words), backfill.lease() as lease:
            record = backfill.close(lease, now(), forfeit=FORFEIT_REASON)
        isolation = record["isolation"]
        self.teller.say(f"Isolation held: {isolation['holds']}." if isinstance(isolation, dict) else "")
        self.teller.page(backfill.folder / "validation.html")

    @contextmanager
    def _live_goes_on(self, project_context: ProjectContext) -> Iterator[list[int]]:
        """The shop goes on selling while the backfill runs: inside the range too, since some orders are very late."""
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
