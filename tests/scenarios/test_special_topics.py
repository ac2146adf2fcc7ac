"""Topics that are not just a row of records, each with the outcome that the documentation promises."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from itertools import count
from typing import Any

import pytest
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from anabranch.adapters.spark.write.quarantine import QuarantineFullError
from anabranch.app.backfill import BackfillRun
from anabranch.runs.states import Event, State
from anabranch.validate.report import Verdict
from tests.fixtures.broker import Record, eventually
from tests.scenarios.backfills import JUNE, Onlooker, edit
from tests.scenarios.checker import between, order_of
from tests.scenarios.shop import END, START, Shop, hours, order, refusal, staged_slices

COMPACTED = {
    "cleanup.policy": "compact",
    "segment.ms": "500",
    "min.cleanable.dirty.ratio": "0.001",
    "max.compaction.lag.ms": "500",
    "delete.retention.ms": "86400000",
}
ABSURD = 9_223_372_036_854_775_807


def test_an_ordinary_backfill_corrects_the_range_and_nothing_else_and_can_be_taken_back(shop: Shop) -> None:
    former = shop.former()
    run = shop.plan()
    assert shop.apply(run).verdict is Verdict.ACCEPTED
    shop.require(former)
    shop.promote(run)
    assert shop.corrected() != former
    shop.require(shop.corrected())
    shop.roll_back(run)
    shop.require(former)
    shop.promote(run)
    shop.require(shop.corrected())


def test_aborted_transactions_give_no_row_and_are_counted(new_shop: Callable[..., Shop]) -> None:
    shop = new_shop(partitions=1)
    shop.transaction(hours(range(3), partitions=1), commit=True)
    shop.transaction(hours([2, 3], partitions=1, begin=500), commit=False)
    shop.transaction(hours(range(3, 6), partitions=1, begin=1000), commit=True)
    shop.live()
    run = shop.plan(slices=2)
    assert shop.apply(run).verdict is Verdict.ACCEPTED
    [[(start, end)]] = run.plan.source.ranges.values()
    visible = sum(start <= record.offset < end for record in shop.records())
    ledger = shop.staged_ledger(run)
    assert len(shop.records("read_uncommitted")) - len(shop.records()) == 40
    assert ledger["aborted"] == 40
    assert ledger["control"] == ledger["offsets"] - visible - 40 > 0
    assert ledger["compacted"] == ledger["lost"] == 0
    shop.promote(run)
    shop.require(shop.corrected())


def test_headers_reach_a_transform_that_asks_for_them_in_every_slice(new_shop: Callable[..., Shop]) -> None:
    """They are not read where nobody asks, which is told from the query that all slices share."""
    shop = new_shop()
    shop.produce([{**each, "headers": [("from", f"h{number}".encode())]} for number, each in enumerate(hours())])
    shop.live()
    transform = shop.project_context.folder / "transforms" / "orders.py"
    edit(transform, {'"customer",': 'F.col("_headers")[0]["value"].cast("string").alias("customer"),'})
    run = shop.plan(slices=3)
    assert shop.apply(run).verdict is Verdict.ACCEPTED
    shop.promote(run)
    inside = {row[0]: row[1] for row in between(shop.rows(), START, END)}
    assert len(inside) == 40
    assert inside == {number: number.replace("o", "h") for number in inside}


def test_all_that_a_record_has_reaches_a_transform_that_asks_for_it_in_every_slice(
    new_shop: Callable[..., Shop],
) -> None:
    """Of a record's columns those are made that somebody asks for: here all but headers, and keys that are null."""
    shop = new_shop()
    shop.produce([{**each, "key": f"k{number}" if number % 3 else None} for number, each in enumerate(hours())])
    shop.live()
    asked = """F.concat_ws(
            "/",
            "_topic",
            F.coalesce(F.col("_key").cast("string"), F.lit("none")),
            F.col("_partition").cast("string"),
            F.col("_offset").cast("string"),
            F.unix_millis("_timestamp").cast("string"),
        ).alias("customer"),"""
    edit(shop.project_context.folder / "transforms" / "orders.py", {'"customer",': asked})
    run = shop.plan(slices=3)
    assert shop.apply(run).verdict is Verdict.ACCEPTED
    shop.promote(run)
    inside = {row[0]: row[1] for row in between(shop.rows(), START, END)}
    assert len(inside) == 40
    assert inside == {
        number: f"{shop.topic}/{key}/{record.partition}/{record.offset}/{record.timestamp}"
        for record in shop.records()
        for number in [json.loads(record.value or b"")["order_id"]]
        for key in [(record.key or b"none").decode()]
        if number in inside
    }


@pytest.mark.long
def test_slices_are_exact_where_spark_reads_kafka_by_its_older_interface(shop: Shop) -> None:
    """The query that all slices share cannot be given other offsets there: it must not be used."""
    name, conf = "spark.sql.sources.useV1SourceList", shop.spark.session.conf
    usual = conf.get(name)
    conf.set(name, f"kafka,{usual}")
    try:
        run = shop.plan(slices=3)
        assert shop.apply(run).verdict is Verdict.ACCEPTED
    finally:
        conf.set(name, usual or "")
    shop.promote(run)
    shop.require(shop.corrected())


def test_a_compacted_topic_gives_the_rows_of_what_is_left_and_says_how_much_is_gone(
    new_shop: Callable[..., Shop],
) -> None:
    shop = new_shop(partitions=1, config=COMPACTED)
    keyed = [{**record, "key": f"k{number}"} for number, record in enumerate(hours(partitions=1))]
    again = [{**record, "key": f"k{number + 55}"} for number, record in enumerate(hours([3], partitions=1, begin=500))]
    stamp = again[-1]["timestamp"]
    tombstones = [{"value": None, "key": f"k{number}", "partition": 0, "timestamp": stamp} for number in (41, 42, 43)]
    shop.produce([*keyed, *again, *tombstones])
    later = count(round((JUNE + timedelta(hours=10)).timestamp() * 1000), 60_000)

    def compacted() -> bool:
        # A segment is compacted once it is no longer written to; another one is begun by a record much younger.
        shop.produce([{"value": None, "key": "roll", "partition": 0, "timestamp": next(later)}])
        return not any(record.key == b"k41" and record.value for record in shop.records())

    with cleaning_often(shop):
        eventually(compacted, seconds=240)
    shop.live()
    run = shop.plan(slices=2)
    assert run.plan.source.compacted
    assert shop.apply(run).verdict is Verdict.ACCEPTED
    [[(start, end)]] = run.plan.source.ranges.values()
    read = [record for record in shop.records() if start <= record.offset < end]
    ledger = shop.staged_ledger(run)
    assert ledger["compacted"] >= 20
    assert ledger["compacted"] + len(read) >= ledger["offsets"]  # the cleaner may have gone on since
    assert ledger["filtered"] >= 3
    assert ledger["control"] == ledger["aborted"] == ledger["lost"] == 0
    shop.promote(run)
    shop.require(shop.corrected())


@contextmanager
def cleaning_often(shop: Shop) -> Iterator[None]:
    """The broker's cleaner looks every quarter of a minute by itself."""
    _set_on_brokers(shop, AlterConfigOpType.SET)
    try:
        yield
    finally:
        _set_on_brokers(shop, AlterConfigOpType.DELETE)


def _set_on_brokers(shop: Shop, operation: AlterConfigOpType) -> None:
    entry = ConfigEntry("log.cleaner.backoff.ms", "200", incremental_operation=operation)
    client = shop.admin
    for number in client.list_topics(timeout=30).brokers:
        broker = ConfigResource(ResourceType.BROKER, str(number), incremental_configs=[entry])
        for answer in client.incremental_alter_configs([broker]).values():
            answer.result(30)


def recreated_before(moment: str, shop: Shop, run: BackfillRun) -> Onlooker:
    def recreate(_: str = "") -> None:
        shop.recreate_topic(hours(begin=5000))

    if moment == "before the first slice":
        recreate()
    if moment == "before promotion":
        shop.apply(run)
        recreate()
    return Onlooker(recreate) if moment == "between slices" else Onlooker()


@pytest.mark.parametrize(
    ("moment", "staged"), [("before the first slice", 0), ("between slices", 1), ("before promotion", 2)]
)
def test_a_topic_made_anew_under_the_same_name_is_never_read(shop: Shop, moment: str, staged: int) -> None:
    former = shop.former()
    run = shop.plan(slices=2)
    watch = recreated_before(moment, shop, run)
    error = refusal(shop.promote if moment == "before promotion" else shop.apply, run, watch)
    assert error.code == "plan.topic-recreated"
    assert "Production unchanged" in error.state
    shop.require(former)
    assert staged_slices(run) == staged
    assert refusal(shop.promote, shop.again(run.run_id), Onlooker()).code == "plan.topic-recreated"


def test_a_partition_added_after_the_plan_is_flagged_and_left_to_live(shop: Shop) -> None:
    run = shop.plan(slices=2)
    shop.add_partitions(3)
    shop.produce([order(9000, JUNE + timedelta(hours=2, minutes=30), partition=2)])
    assert shop.apply(run).verdict is Verdict.ACCEPTED
    noticed = [r.details for r in shop.store.reader.audit(run_id=run.run_id) if r.action == "drift.noticed"]
    assert [json.loads(each)["what"] for each in noticed] == [
        "partitions were added to the topic: 2 when planned, 3 now; the run reads the planned ones"
    ]
    shop.promote(run)
    shop.require(shop.corrected())
    shop.live_fixed()
    shop.require(shop.corrected())
    assert any(row[0] == "o9000" for row in shop.rows())


def test_retention_that_overtakes_the_range_stops_the_run_and_names_the_offsets(shop: Shop) -> None:
    former = shop.former()
    run = shop.plan(slices=3)
    first, second, third = run.plan.slices

    def delete(slice_id: str) -> None:
        # What is in staging may go. What is still to be read may not.
        upto = (
            {p: end for p, (_, end) in first.offsets.items()} if slice_id == first.id else {0: third.offsets[0][0] + 4}
        )
        shop.delete_records(upto)

    error = refusal(shop.apply, run, watch := Onlooker(delete))
    assert watch.seen == [first.id, second.id]
    assert error.code == "plan.retention-overtook"
    lost = [third.offsets[0][0], third.offsets[0][0] + 4]
    assert error.fields["lost"] == {"0": lost}
    assert f"partition 0: {lost[0]} to {lost[1] - 1}" in error.what
    assert staged_slices(run) == 2
    assert run.run.state is State.FAILED
    shop.require(former)


def test_retention_that_overtook_the_range_before_the_first_slice_stops_the_run_at_once(shop: Shop) -> None:
    run = shop.plan(slices=2)
    [(start, _)] = run.plan.source.ranges[1]
    shop.delete_records({1: start + 3})
    error = refusal(shop.apply, run, watch := Onlooker())
    assert (error.code, error.fields["lost"]) == ("plan.retention-overtook", {"1": [start, start + 3]})
    assert watch.seen == []


@pytest.mark.long
def test_poison_is_set_aside_with_all_that_is_known_and_too_much_of_it_stops_the_run(
    new_shop: Callable[..., Shop],
) -> None:
    shop = new_shop(partitions=1, pipeline={"maxRecords: 1000": "maxRecords: 2"})
    orders = hours(partitions=1)
    poison = {
        50: (b"not json", "value is not JSON of the schema"),
        52: (b'{"order_id":"x","ordered_at":"2025-06-01T02:30:00Z"} and more', "value is not JSON of the schema"),
        75: (b'{"order_id":"x"}', "no event time"),
        77: (b'{"order_id":"x","amount":"many"}', "value is not JSON of the schema"),
    }
    for place, (value, _) in poison.items():
        orders[place] = {**orders[place], "value": value, "key": f"k{place}"}
    shop.produce(orders)
    shop.live()
    former = shop.former()
    run = shop.plan(slices=2)
    error = refusal(shop.apply, run, Onlooker())
    assert isinstance(error, QuarantineFullError)
    assert "offset 75: no event time" in error.what
    assert staged_slices(run) == 1
    assert [row["offset"] for row in shop.quarantined()] == [50, 52]
    shop.require(former)

    file = shop.project_context.folder / "pipelines" / "orders.yaml"
    file.write_text(file.read_text().replace("maxRecords: 2", "maxRecords: 4"))
    full = shop.again(run.run_id)
    assert refusal(shop.apply, full, Onlooker()).code == "plan.pipeline-changed", "the cap is part of the plan"
    with full.lease() as lease:
        lease.transition(Event.CANCEL)
    run = shop.plan(slices=2)
    assert shop.apply(run).verdict is Verdict.ACCEPTED
    aside = [row for row in shop.quarantined() if row["run"] == run.run_id]
    assert {row["offset"]: (row["value"], row["reason"]) for row in aside} == poison
    assert [(row["topic"], row["partition"], row["run"], row["key"]) for row in aside] == [
        (shop.topic, 0, run.run_id, f"k{place}".encode()) for place in poison
    ]
    shop.promote(run)
    shop.require(shop.corrected())


@pytest.mark.long
def test_a_record_with_an_absurd_timestamp_is_set_aside_and_the_others_are_replayed(
    new_shop: Callable[..., Shop],
) -> None:
    shop = new_shop(partitions=1, config={"message.timestamp.after.max.ms": str(ABSURD)})
    orders = hours(partitions=1)
    orders[60] = {**orders[60], "timestamp": ABSURD, "key": "k", "headers": [("trace", b"1")]}
    shop.transaction(orders, commit=True)
    shop.transaction(hours([2], partitions=1, begin=700), commit=False)
    shop.live()
    run = shop.plan(slices=2)
    assert shop.apply(run).verdict is Verdict.ACCEPTED
    [aside] = shop.quarantined()
    assert (aside["offset"], aside["reason"], aside["timestamp"]) == (60, "timestamp out of range", None)
    assert (aside["key"], aside["value"]) == (b"k", orders[60]["value"])
    ledger = shop.staged_ledger(run)
    assert (ledger["quarantined"], ledger["lost"]) == (1, 0)
    shop.promote(run)
    shop.require(shop.corrected())


def test_the_checker_knows_what_is_no_order() -> None:
    """So that the tests above can't pass because both sides leave out the same."""
    good = Record(0, 0, None, order(1, JUNE)["value"], 0)
    assert order_of(good) is not None
    others: list[dict[str, Any]] = [{"value": None}, {"value": b"no"}, {"value": b"[]"}, {"timestamp": ABSURD}]
    assert [order_of(replace(good, **other)) for other in others] == [None] * 4
