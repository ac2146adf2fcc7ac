"""Windows replayed as live did them, from a checkpoint of it: as plain Python models live's rules, batch by batch."""

from __future__ import annotations

import json
from collections import Counter
from datetime import timedelta
from itertools import pairwise

import pytest
from tests.conformance.classes.dying import dying_at
from tests.fixtures.broker import KafkaForTests
from tests.fixtures.spark import SparkForTests
from tests.integration.windows.checker import AsLive, Order, Rows, fixed_windows, order_of, summed
from tests.integration.windows.scene import Revenue, at, sold
from tests.scenarios.windowed_live import LATENESS

from anabranch.adapters.checkpoints.log import batches_done
from anabranch.adapters.iceberg.refs import snapshot_of
from anabranch.adapters.spark.windows.stream_state import compare_states
from anabranch.adapters.spark.windows.stream_writer import OtherStateError
from anabranch.app.backfill import BackfillRun
from anabranch.app.slice_writers import stream_place
from anabranch.app.stream_states import states_by_name
from anabranch.cli.main import main
from anabranch.validate.report import Report, Verdict
from anabranch.validate.result import CheckOutcome, Result

pytestmark = [pytest.mark.long, pytest.mark.spark, pytest.mark.kafka, pytest.mark.timeout(900)]
HOUR, HALF = timedelta(hours=1), timedelta(minutes=30)
BATCHES = [
    [(0, 2), (0, 10), (0, 20), (0, 30), (0, 40), (0, 50)],
    [(1, 5), (1, 20), (1, 35), (1, 50), (2, 5), (2, 20)],
    [
        (2, 35),
        (2, 50),
        (3, 5),
        (1, 10),
        (3, 20),
        (3, 35),
    ],  # 01:10 in time: the batch before knew of 00:50 only
    [(3, 50), (1, 40), (1, 15), (4, 5), (4, 20), (4, 35)],  # 01:40 too late for one of its windows, 01:15 for both
    [(4, 50), (5, 5), (2, 20), (5, 20), (5, 30), (5, 45)],  # 02:20 too late for both
]
LATE = {at(1, 40), at(1, 15), at(2, 20)}


def between(rows: Rows, first: int, after: int) -> Rows:
    return Counter({row: count for row, count in rows.items() if at(first) <= row[0] < at(after)})


def late_events(report: Report) -> Result:
    [told] = [result for result in report.results if result.check == "late events"]
    return told


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory, kafka: KafkaForTests, spark: SparkForTests) -> Revenue:
    """Live has read five batches and closed what it could; then the code was mended."""
    folder = tmp_path_factory.mktemp("faithful") / "shop"
    shop = Revenue.open(folder, kafka, spark, {"kind": "sliding", "size": "1h", "slide": "30m"})
    moments = [at(*moment) for batch in BATCHES for moment in batch]
    kafka.produce(shop.topic, [sold(moment, n, partition=0) for n, moment in enumerate(moments)])
    with shop.live(max_offsets=6) as writer:
        shop.windows.await_closed(writer, at(5, 45))
    shop.mend()
    return shop


@pytest.fixture(scope="module")
def model(shop: Revenue) -> AsLive:
    model = AsLive(HOUR, HALF, LATENESS)
    for orders in shop.batches():
        model.batch(orders)
    assert [len(orders) for orders in shop.batches()][:5] == [6] * 5
    assert {order.at for order in model.late} == LATE
    assert shop.rows() == model.rows(2)
    return model


def test_killed_taken_over_and_resumed_it_gives_what_live_would_have_given(
    shop: Revenue, model: AsLive, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = shop.plan_of(at(2), at(4), slices=2, strategy="stream-faithful")
    assert run.plan.stream is not None
    assert [sum(end - start for start, end in slice_.offsets.values()) for slice_ in run.plan.slices] == [12, 6, 6]
    listed = ["checkpoints", "revenue", "--project", str(shop.project_context.folder), "-o", "json"]
    assert main([*listed, "--before", "2025-06-01T02:00:00Z"]) == 0
    assert json.loads(capsys.readouterr().out)["last_good_stream"] == run.plan.stream.checkpoint

    with dying_at(monkeypatch, "slice.commit.before"):
        shop.apply(run)
    with dying_at(monkeypatch, "slice.commit.after:2"):
        shop.apply(shop.again(run.run_id))
    place = stream_place(shop.project_context, run.run_id)
    assert [batches_done(place / epoch) for epoch in ("e1", "e2")] == [[0], [0, 1]], "each died before Spark knew"
    run = shop.again(run.run_id)
    report = shop.apply(run)
    assert report.verdict is Verdict.ACCEPTED, [(r.check, r.found) for r in report.failed]
    live, right = model.rows(2), model.rows(1)
    expected = live - between(live, 1, 4) + between(right, 1, 4)
    assert shop.staged(run) == expected

    passed, booked = shop.metered(run)
    assert passed >= booked > 0, "both the stream and the ledger read through the meter, which holds the limit"
    told = late_events(report)
    records = {(r.partition, r.offset): order_of(r) for r in shop.kafka.read_all(shop.topic)}
    assert told.outcome is CheckOutcome.PASSED
    assert {records[row["partition"], row["offset"]] for row in told.sample} == set(model.late)

    compare_with_live(shop, run)
    shop.promote(run)
    assert shop.rows() == expected
    shop.roll_back(run)
    assert shop.rows() == live
    shop.close(run)
    assert not place.exists()


def compare_with_live(shop: Revenue, run: BackfillRun) -> None:
    """The replay's state against live's: the same windows are open, and the sums differ by what was mended."""
    session = shop.spark.session
    model = AsLive(HOUR, HALF, LATENESS)
    for orders in shop.batches()[:4]:
        model.batch(orders)
    third = next(each.name for each in shop.windows.kept.all() if each.batch == 3)
    compared = compare_states(session, *states_by_name(shop.project_context, shop.pipeline, run.run_id, third))
    assert (compared.same_place, compared.agree) == (True, False)
    [store] = compared.stores
    assert (store.same, store.only_a, store.only_b) == (0, 0, 0)
    assert store.different == len(store.first) == len(model.open_keys())
    for each in store.first:
        ours, theirs = (json.loads(text or "{}") for text in (each.a, each.b))
        assert {name: (ours[name], theirs[name]) for name in ours if ours[name] != theirs[name]} == {
            "sum": (ours["sum"], 2 * ours["sum"])
        }
    assert compare_states(session, *states_by_name(shop.project_context, shop.pipeline, third, third)).agree


def test_batch_exact_agrees_but_for_the_late_events_and_a_cap_changes_nothing_but_the_batches(
    shop: Revenue, model: AsLive
) -> None:
    capped = shop.plan_of(at(2), at(4), slices=1, strategy="stream-faithful", budget={"windowsPerBatch": 1})
    assert [slice_.width for slice_ in capped.plan.slices] == [12, 6, 0, 6, 0, 0], "some only close windows"
    report = shop.apply(capped)
    assert report.verdict is Verdict.ACCEPTED, [(r.check, r.found) for r in report.failed]
    faithful = between(shop.staged(capped), 1, 4)
    assert faithful == between(model.rows(1), 1, 4)
    line = capped.target.staged_slices(capped.target.stagings(capped.run_id)[-1].name, capped.plan.staging_base)
    held = [{row[0] for row in between(shop.rows_at(snapshot_of(slice_.head)), 1, 4)} for slice_ in line]
    fresh = [len(now - before) for before, now in pairwise([set(), *held])]
    assert fresh == [1] * 6, "six windows of the range, one in a batch"
    dropped = sum(account.filtered for slice_ in line for account in slice_.ledger.accounts.values())
    assert dropped == 2, "01:15 and 02:20 are in no window of the range, 01:40 is in one"
    shop.give_up(capped)

    exact = shop.plan_of(at(2), at(4), slices=1, strategy="batch-exact")
    told = late_events(shop.apply(exact))
    assert told.outcome is CheckOutcome.WARNED
    assert told.found.startswith("3 events")
    whole = between(shop.staged(exact), 1, 4)
    orders: list[Order] = shop.orders()
    pairs = [(window, order) for order in orders for window in fixed_windows(order.at, HOUR, HALF)]
    assert whole == between(summed(pairs, 1), 1, 4)
    unlike = {row[0] for row in (whole - faithful) + (faithful - whole)}
    lost = {window[0] for order in model.late for window in fixed_windows(order.at, HOUR, HALF)}
    assert unlike <= lost
    assert unlike
    shop.give_up(exact)


def test_code_that_keeps_another_state_is_refused_with_the_way_out(shop: Revenue) -> None:
    file = shop.project_context.folder / "transforms" / "revenue.py"
    more = 'F.count("*").alias("orders"), F.max("amount").alias("most")'
    right = file.read_text()
    changed = right.replace('F.count("*").alias("orders")', more)
    kept = '(F.col("orders") + F.when(F.col("most") < 0, 1).otherwise(0)).alias("orders"),'
    file.write_text(changed.replace('"orders",', kept))
    try:
        run = shop.plan_of(at(2), at(4), slices=1, strategy="stream-faithful")
        with pytest.raises(OtherStateError) as told:
            shop.apply(run)
        assert "batch-exact" in told.value.remedy
        shop.give_up(run)
    finally:
        file.write_text(right)
