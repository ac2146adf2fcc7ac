"""What a plan has pinned, changed for real under it: the guard of the run finds each change, and stops for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from confluent_kafka.admin import AdminClient, NewPartitions
from pyiceberg.types import StringType
from tests.fixtures.broker import QUIET
from tests.integration.plan.shop import DAY, FOR_EVER, HOUR, JUNE, SECONDS, Shop, every

from anabranch.adapters.iceberg.refs import snapshot_of
from anabranch.app.planning import ProjectInputs, plan_backfill
from anabranch.app.project_context import open_project
from anabranch.errors import AnabranchError
from anabranch.plan.drift import Drift, PartitionsAdded
from anabranch.plan.planner import Planned
from anabranch.plan.slices import Ranges
from anabranch.replay.drift_guard import DriftGuard

pytestmark = pytest.mark.kafka


@dataclass
class Run:
    """A plan, and the guard that would watch over its run."""

    shop: Shop
    planned: Planned
    told: list[Drift] = field(default_factory=list)

    @property
    def topic(self) -> str:
        return self.planned.plan.source.topic

    def check(self, needed: Ranges | None = None) -> None:
        plan = self.planned.plan
        project_context = open_project(self.shop.folder)
        present = ProjectInputs(project_context, self.planned.request.pipeline, plan)
        DriftGuard(
            plan,
            present,
            plan.source.ranges,
            lambda: plan.source.ranges if needed is None else needed,
            self.told.append,
        ).check()

    def admin(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self.shop.kafka.bootstrap, **QUIET})

    def delete_topic(self) -> None:
        client = self.admin()
        client.delete_topics([self.topic], operation_timeout=SECONDS)[self.topic].result(SECONDS)


@pytest.fixture
def run(plan_shop: Shop) -> Run:
    topic = plan_shop.topic(every(HOUR, JUNE, JUNE + 3 * DAY))
    plan_shop.pipeline("orders", topic)
    plan_shop.table("orders")
    plan_shop.live("orders", [JUNE], {0: (0, 72)})
    contract = plan_shop.contract("orders", JUNE, JUNE + DAY)
    planned = plan_backfill(open_project(plan_shop.folder), contract, now=JUNE + 30 * DAY)
    return Run(plan_shop, planned)


def _recreate(run: Run) -> None:
    run.delete_topic()
    run.shop.kafka.create_topic(run.topic, 1, FOR_EVER)


def _change_code(run: Run) -> None:
    transform = run.shop.folder / "transforms" / "orders.py"
    transform.write_text(transform.read_text() + "# another rate\n")


def _add_column(run: Run) -> None:
    with run.shop.catalog.load_table("shop.orders").update_schema() as update:
        update.add_column("note", StringType())


def _expire_base(run: Run) -> None:
    run.shop.live("orders", [JUNE], {0: (72, 73)})
    table = run.shop.catalog.load_table("shop.orders")
    table.maintenance.expire_snapshots().by_id(snapshot_of(run.planned.plan.target.base)).commit()


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (_recreate, "plan.topic-recreated"),
        (Run.delete_topic, "plan.topic-recreated"),
        (lambda run: run.shop.delete_records(run.topic, {0: 3}), "plan.retention-overtook"),
        (_change_code, "plan.code-changed"),
        (_add_column, "plan.schema-changed"),
        (lambda run: run.shop.catalog.drop_table("shop.orders"), "plan.schema-changed"),
        (_expire_base, "plan.base-gone"),
    ],
    ids=["topic-recreated", "topic-gone", "retention", "code", "column-added", "table-gone", "base-expired"],
)
def test_the_run_stops(run: Run, change: Callable[[Run], None], code: str) -> None:
    run.check()
    change(run)
    with pytest.raises(AnabranchError) as stopped:
        run.check()
    assert stopped.value.code == code
    assert "Production unchanged" in stopped.value.state


def test_added_partitions_are_told_and_the_run_goes_on(run: Run) -> None:
    client = run.admin()  # must outlive its answer
    client.create_partitions([NewPartitions(run.topic, 3)])[run.topic].result(SECONDS)
    run.check()
    assert run.told == [PartitionsAdded(1, 3)]


def test_what_is_staged_already_may_expire(run: Run) -> None:
    run.shop.delete_records(run.topic, {0: 3})
    run.check(needed={0: ((3, 24),)})
    assert run.told == []


def test_live_goes_on_writing_and_nothing_has_drifted(run: Run) -> None:
    run.shop.live("orders", [JUNE], {0: (72, 73)})
    run.shop.kafka.produce(run.topic, [{"value": b"{}"}])
    run.check()
    assert run.told == []
