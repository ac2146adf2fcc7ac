"""A readiness drill on the real stack: what it answers is so, and production is as it was."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition

from anabranch.app.backfill import BackfillRun
from anabranch.app.drill import build_drill
from anabranch.cli.main import main
from anabranch.contract.load import load_pipelines
from anabranch.plan.submission import submit
from anabranch.readiness.drill import Drill
from anabranch.readiness.drill_report import DrillReport, drill_history
from anabranch.runs.run import RangeHeldError
from anabranch.runs.states import Event, State
from tests.scenarios.backfills import JUNE, NOW, Onlooker
from tests.scenarios.checker import FIXED, between, recomputed
from tests.scenarios.shop import Shop, hours

pytestmark = [pytest.mark.long, pytest.mark.spark, pytest.mark.kafka]
HOUR = timedelta(hours=1)


def drill(shop: Shop) -> Drill[BackfillRun]:
    return build_drill(
        shop.project_context, shop.store, load_pipelines(shop.project_context.loaded)["orders"], shop.again, "ann"
    )


def drilled(shop: Shop, *, later: int = 0) -> DrillReport:
    return drill(shop)(lambda _: Onlooker(), NOW + later * timedelta(seconds=1))


def figures(report: DrillReport, question: str) -> dict[str, Any]:
    return dict(next(each.figures for each in report.answers if question in each.question))


def commit(shop: Shop, group: str, offsets: dict[int, int]) -> None:
    consumer = Consumer({"bootstrap.servers": shop.kafka.bootstrap, "group.id": group, "log_level": 0})
    consumer.commit(offsets=[TopicPartition(shop.topic, p, o) for p, o in offsets.items()], asynchronous=False)
    consumer.close()


def test_the_four_answers_are_so(new_shop: Callable[..., Shop]) -> None:
    shop = new_shop(config={"retention.ms": str(40 * 365 * 86_400_000)})
    shop.produce([*hours(range(4)), *hours([4], each=10, begin=100), *hours([5], begin=200)])
    shop.live_fixed()
    commit(shop, "billing", {0: 5})
    commit(shop, "shop-orders", shop.ends())
    before, refs = shop.rows(), dict(shop.table().metadata.refs)

    report = drilled(shop)

    # It chose the smallest finished hour, and knows where a plain reader finds its events.
    wanted = figures(report, "Which offsets")["offsets"]
    of_the_hour = {
        (record.partition, record.offset)
        for record in shop.records()
        if JUNE + 4 * HOUR <= _ordered_at(record.value) < JUNE + 5 * HOUR
    }
    assert len(of_the_hour) == 10
    read = {(int(p), o) for p, ranges in wanted.items() for start, end in ranges for o in range(start, end)}
    assert of_the_hour <= read
    assert len(read) < len(shop.records()) / 2

    back = figures(report, "How far back")
    assert back["class"] is None
    assert back["replay_from"]["beginning"] is True
    assert back["replay_from"]["offsets"] == {str(p): [0, end] for p, end in shop.ends().items()}

    duplicates = figures(report, "duplicates")
    assert duplicates["isolation_held"] is True
    assert (duplicates["groups"]["billing"], duplicates["groups"]["shop-orders"]) == ("unchanged", "unchanged")
    behind = {each["group"]: each["lag"] for each in duplicates["readers"]["topic"]["groups"]}
    assert behind == {"billing": shop.ends()[0] - 5, "shop-orders": 0}

    proof = figures(report, "caught up")
    assert proof["offsets_accounted"] == proof["offsets_planned"] == len(read)
    assert (proof["live_lag_before"], proof["live_lag_after"]) == (0, 0)
    expected = between(recomputed(shop.records(), FIXED), JUNE + 4 * HOUR, JUNE + 5 * HOUR).total()
    assert proof["rows"] == {"before": expected, "after": expected, "changed": False}
    assert proof["same_code"] is True
    assert report.recovery.figures["recovery_seconds"] > 0
    assert report.recovery.figures["records"] == len(read)

    # Nothing is left of it but its record.
    assert shop.rows() == before
    assert dict(shop.table().metadata.refs) == refs
    assert shop.store.reader.run(report.run).state is State.CLOSED


def _ordered_at(value: bytes | None) -> datetime:
    return datetime.fromisoformat(json.loads(value or b"{}")["ordered_at"])


def test_what_a_drill_that_died_has_left_is_cleared_away_by_the_next(
    shop: Shop, capsys: pytest.CaptureFixture[str]
) -> None:
    planned = drill(shop).plan(NOW)
    died = shop.again(submit(shop.store.writer, planned.plan, planned.request.contract, now=NOW, actor="ann").id)
    with died.lease() as lease:
        lease.transition(Event.START)
        died.staging(lease)

    report = drilled(shop, later=1)

    assert report.run != died.run_id
    assert died.run.state is State.CLOSED
    assert [ref for ref in shop.table().metadata.refs if ref.startswith("ab_")] == []
    # Live wrote the table by other code: then other rows are no fault of the replay, and told as what they are.
    proof = figures(report, "caught up")
    assert (proof["same_code"], proof["rows"]["changed"]) == (False, True)
    shop.require(shop.former())
    [kept] = drill_history(shop.store.reader, "orders")
    assert kept.found == json.loads(json.dumps(report.document()))
    assert main(["drill", "history", "orders", "--project", str(shop.project_context.folder), "-o", "json"]) == 0
    assert [each["run"] for each in json.loads(capsys.readouterr().out)] == [report.run]


def test_a_range_that_a_backfill_holds_is_not_drilled_with(shop: Shop) -> None:
    run = shop.plan()
    held = run.plan.target.partitions
    assert (held.start, held.end) == (JUNE + 2 * HOUR, JUNE + 4 * HOUR)
    for other in (0, 1, 4, 5):
        start, end = ((JUNE + each * HOUR).isoformat() for each in (other, other + 1))
        shop.table().delete(f"ordered_at >= '{start}' and ordered_at < '{end}'")
    with pytest.raises(RangeHeldError):
        drilled(shop)
    assert shop.store.reader.run(run.run_id).state is State.PLANNED
