"""Windows live and in replay: both as plain Python adds them up, and what live dropped as late told by name."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from pathlib import Path
from shutil import rmtree

import pytest
from tests.fixtures.broker import KafkaForTests
from tests.fixtures.spark import SparkForTests
from tests.integration.windows.checker import Order, Rows, fixed_windows, order_of, sessions, summed
from tests.integration.windows.scene import Revenue, at, sold
from tests.scenarios.windowed_live import LATENESS

from anabranch.plan.offsets.completeness import Proof
from anabranch.plan.strategies.event_windows import WindowsOpenError
from anabranch.validate.attribution import Attribution
from anabranch.validate.report import Verdict
from anabranch.validate.result import CheckOutcome

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.timeout(900)]
HOUR, TEN = timedelta(hours=1), timedelta(minutes=10)
POISON = {"value": b"poison", "partition": 1, "timestamp": round(at(1).timestamp() * 1000)}


def between(rows: Rows, first: int, after: int) -> Rows:
    return Counter({row: count for row, count in rows.items() if at(first) <= row[0] < at(after)})


def by_window(rows: Rows) -> dict[tuple[object, ...], tuple[object, ...]]:
    """By the keys of the table: start, end, currency."""
    return {row[:3]: row for row in rows}


def computed(orders: list[Order], factor: int, size: timedelta, slide: timedelta) -> Rows:
    return summed(((window, order) for order in orders for window in fixed_windows(order.at, size, slide)), factor)


@pytest.mark.long
def test_sliding_windows_and_the_replay_takes_the_late_ones_in(
    tmp_path: Path, kafka: KafkaForTests, spark: SparkForTests
) -> None:
    shop = Revenue.open(tmp_path / "shop", kafka, spark, {"kind": "sliding", "size": "1h", "slide": "30m"})
    on_time = [sold(at(0, 7 * n), n + 1) for n in range(20)]  # to 02:13
    late = [sold(at(0, 40), 101), sold(at(0, 50), 102)]
    half = [sold(at(1, 10), 103)]  # too late for 00:30 to 01:30, in time for 01:00 to 02:00? closed at 02:03: no
    with shop.live() as writer:
        shop.step(writer, [*on_time, POISON], at(0, 133))
        # Too late for the windows of 00:30 and before, in time for none that is open.
        shop.step(writer, [*late, *half, sold(at(2, 20), 104), sold(at(6), 300), sold(at(6, 1), 301)], at(6, 1))
    assert shop.windows.quarantined == 1

    orders = shop.orders()
    gone = {order for record in (*late, *half) if (order := _order(record)) is not None}
    # Live's watermark was 02:03 when the late ones came: each lost the windows that had ended by then.
    kept = [
        (window, order)
        for order in orders
        for window in fixed_windows(order.at, HOUR, 3 * TEN)
        if order not in gone or window[1] > at(0, 133) - LATENESS
    ]
    closed = at(6, 1) - LATENESS
    live_rows = Counter({row: n for row, n in summed(kept, 2).items() if row[1] <= closed})
    assert shop.rows() == live_rows
    assert shop.windows.late == len(gone) == 3

    shop.mend()
    with pytest.raises(WindowsOpenError):
        shop.plan_of(at(4), at(7))
    run = shop.plan_of(at(1), at(3), slices=2)
    assert len(run.plan.slices) == 2
    assert run.plan.target.partitions.start == at(0), "an event of 01:00 is in the window of 00:30 too"
    report = shop.apply(run)
    assert report.verdict is Verdict.ACCEPTED, [(r.check, r.found) for r in report.failed]
    fixed = computed(orders, 1, HOUR, 3 * TEN)
    shop.promote(run)
    assert shop.rows() == live_rows - between(live_rows, 0, 3) + between(fixed, 0, 3)
    [told] = [result for result in report.results if result.check == "late events"]
    assert told.outcome is CheckOutcome.WARNED
    assert told.found.startswith("3 events")
    records = {(r.partition, r.offset): order_of(r) for r in kafka.read_all(shop.topic)}
    assert {records[row["partition"], row["offset"]] for row in told.sample} == gone
    shop.roll_back(run)
    assert shop.rows() == live_rows
    shop.close(run)
    again = shop.plan_of(at(1), at(3), slices=1, control=True)
    assert again.run_id != run.run_id
    second = shop.apply(again)
    assert second.digest == report.digest, "the same contract and code, the same rows"
    # What live dropped as late its code has in a replay: that is noise, and every other window is the fix's.
    by_live, by_control = (by_window(between(rows, 0, 3)) for rows in (live_rows, computed(orders, 2, HOUR, 3 * TEN)))
    noise = {window for window in by_live | by_control if by_live.get(window) != by_control.get(window)}
    assert second.charges is not None
    assert noise
    assert second.charges.total == Attribution(len(by_control) - len(noise), len(noise), len(noise))


@pytest.mark.long
def test_sessions_are_computed_whole_or_refused(tmp_path: Path, kafka: KafkaForTests, spark: SparkForTests) -> None:
    gap = timedelta(minutes=20)
    shop = Revenue.open(tmp_path / "shop", kafka, spark, {"kind": "session", "gap": "20m", "longest": "2h"}, sql=True)
    moments = [at(0, 50), at(1, 5), at(1, 20), at(2, 5), at(2, 45), at(2, 58), at(3, 10), at(3, 25), at(4, 30)]
    with shop.live() as writer:
        shop.step(writer, [sold(moment, 2 * n) for n, moment in enumerate(moments)], at(4, 30))
        shop.step(writer, [sold(at(7), 100)], at(7))
    closed = at(7) - LATENESS
    orders = shop.orders()
    live_rows = Counter({row: n for row, n in summed(sessions(orders, gap), 2).items() if row[1] <= closed})
    assert shop.rows() == live_rows

    shop.mend()
    run = shop.plan_of(at(3), at(3, 30), slices=2)
    first, after = 1, 4
    assert (run.plan.target.partitions.start, run.plan.target.partitions.end) == (at(first), at(after))
    assert run.plan.source.proof == {0: Proof.MAP}, "live has counted every record that it wrote"
    assert shop.apply(run).verdict is Verdict.ACCEPTED
    shop.promote(run)
    fixed = summed(sessions(orders, gap), 1)
    assert shop.rows() == live_rows - between(live_rows, first, after) + between(fixed, first, after)


@pytest.mark.long
def test_what_is_late_is_decided_by_the_batch_before(
    tmp_path: Path, kafka: KafkaForTests, spark: SparkForTests
) -> None:
    shop = Revenue.open(tmp_path / "shop", kafka, spark, {"kind": "tumbling", "size": "1h"})
    # Two to a batch, one batch after the other. When 00:30 comes, the batch before knew of nothing later than 00:20.
    backlog = [at(0, 10), at(0, 20), at(3), at(3, 1), at(0, 30), at(3, 2), at(0, 40), at(3, 3)]
    kafka.produce(shop.topic, [sold(moment, 2 * n, partition=0) for n, moment in enumerate(backlog)])
    with shop.live(max_offsets=2) as writer:
        shop.windows.await_closed(writer, at(3, 3))
    in_time = [order for order in shop.orders() if order.at != at(0, 40)]
    assert shop.rows() == between(computed(in_time, 2, HOUR, HOUR), 0, 1)
    assert shop.windows.late == 1

    # So it is for a replay as a stream, here from live's beginning, as no checkpoint of it is left.
    shop.mend()
    rmtree(shop.windows.kept.folder)
    run = shop.plan_of(at(0), at(1), slices=1, strategy="stream-faithful")
    assert run.plan.stream is not None
    assert run.plan.stream.checkpoint is None
    assert shop.apply(run).verdict is Verdict.ACCEPTED
    assert shop.staged(run) == between(computed(in_time, 1, HOUR, HOUR), 0, 1)


def _order(record: dict[str, object]) -> Order | None:
    from tests.fixtures.broker import Record

    value = record["value"]
    assert isinstance(value, bytes)
    return order_of(Record(0, 0, None, value, 0))
