"""Windows replayed as live did them, batch by batch from a checkpoint of it: as plain Python models live's own rules."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.fixtures.broker import KafkaForTests
from tests.fixtures.spark import SparkForTests
from tests.integration.windows.scene import Revenue, at, sold

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.timeout(900)]


def test_first(tmp_path: Path, kafka: KafkaForTests, spark: SparkForTests) -> None:
    shop = Revenue.open(tmp_path / "shop", kafka, spark, {"kind": "sliding", "size": "1h", "slide": "30m"})
    backlog = [sold(at(0, 7 * n), n + 1) for n in range(60)]  # to 06:53
    backlog[30:30] = [sold(at(1, 10), 501), sold(at(2, 40), 502)]  # late among 03:23
    kafka.produce(shop.topic, backlog)
    with shop.live(max_offsets=8) as writer:
        shop.await_closed(writer, at(6, 53))
    print(shop.late, shop.said)
    for each in shop.kept.all():
        print(each)
    shop.mend()
    for strategy in ("stream-faithful", "batch-exact"):
        run = shop.plan(at(2), at(4), slices=3, strategy=strategy)
        print(run.plan.stream)
        for s in run.plan.slices:
            print(s)
        report = shop.apply(run)
        print([(r.check, r.outcome, r.found) for r in report.results])
        print(sorted(shop.rows(f"ab_{run.run_id}_e1").items()))
        with run.hold() as hold:
            from anabranch.runs.states import Event

            hold.move(Event.CANCEL)
    assert 0
