# ruff: noqa: S608  # the queries here are made of our own names
"""Validation on real staging branches: a good replay is accepted, and each fault is found for its own reason."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from tests.fixtures.spark import CATALOG
from tests.integration.validate.scene import BASE, HALVES, INSIDE, PER_HOUR, RANGE, Order, Scene, not_passed, result

from anabranch.adapters.spark.validate.tables import SnapshotGoneError, TableReader, own_session
from anabranch.validate.report import Verdict
from anabranch.validate.result import CheckOutcome

pytestmark = pytest.mark.spark
FAILED, WARNED = CheckOutcome.FAILED, CheckOutcome.WARNED
FIXED = [replace(order, amount="99.90") if order.number == 15 else order for order in INSIDE]


def halves(orders: list[Order]) -> list[tuple[str, list[Order]]]:
    return [("s00000", orders[:PER_HOUR]), ("s00001", orders[PER_HOUR:])]


def test_a_replay_that_changes_nothing_is_accepted(scene: Scene) -> None:
    scene.replay("same")
    report = scene.asking(expect={"rows": 20}, validation={"notNull": ["amount"]}).validate("same")
    assert not_passed(report) == {}
    assert report.verdict is Verdict.ACCEPTED
    assert [bucket.changed for bucket in report.buckets] == [False, False]
    assert [bucket.start for bucket in report.buckets] == [RANGE.start, RANGE.start + timedelta(hours=1)]
    assert report.ledger.rows == report.digest.rows == 20
    assert report.differences.rows == ()
    json.dumps(report.document(), allow_nan=False)


def test_the_table_is_found_whichever_session_the_thread_used_last(scene: Scene) -> None:
    session, name = scene.spark.session, f"{CATALOG}_known_late"
    jvm: Any = session._jvm
    before = session._jsparkSession
    other = before.newSession()
    for key, value in replace(scene.spark.catalog, name=name).spark_options().items():
        session.conf.set(key, value)
    session.sql(f"CREATE NAMESPACE {name}.validation")
    session.sql(f"CREATE TABLE {name}.{scene.table} (order_id string) USING iceberg")
    jvm.SparkSession.setActiveSession(other)
    try:
        reader = TableReader(own_session(session, name), name, scene.table, RANGE)
        assert [column.name for column in reader.columns()] == ["order_id"]
    finally:
        jvm.SparkSession.setActiveSession(before)


def test_a_correction_is_accepted_and_shown_before_and_after(scene: Scene) -> None:
    scene.replay("fixed", halves(FIXED))
    report = scene.validate("fixed")
    assert not_passed(report) == {}
    assert [bucket.changed for bucket in report.buckets] == [True, False]
    [pair] = report.differences.rows
    assert pair.before is not None
    assert pair.after is not None
    assert (pair.before["amount"], pair.after["amount"]) == ("15.50", "99.90")
    assert pair.after == {**pair.before, "amount": "99.90"}
    assert pair.after["ordered_at"] == "2025-06-01T11:05:00.000000Z"


def test_without_keys_the_rows_on_one_side_only_are_shown(scene: Scene) -> None:
    scene.replay("keyless", halves(FIXED))
    report = replace(scene, keys=None).validate("keyless")
    assert not report.differences.paired
    assert [(d.before or {}).get("amount") for d in report.differences.rows] == ["15.50", None]
    assert [(d.after or {}).get("amount") for d in report.differences.rows] == [None, "99.90"]
    assert "keys" not in {each.check for each in report.results}


def test_a_missing_slice(scene: Scene) -> None:
    scene.replay("gap", [("s00000", HALVES["s00000"])])
    report = scene.asking(expect={"rows": 20, "tolerance": "1%"}).validate("gap")
    assert not_passed(report) == {"conservation": FAILED, "rows per hour": WARNED, "rows expected": FAILED}
    assert {"where": "s00001", "what": "planned, and not in staging"} in result(report, "conservation").sample
    assert report.verdict is Verdict.REJECTED


def test_a_slice_twice(scene: Scene) -> None:
    scene.replay("twice", [*HALVES.items(), ("s00001", HALVES["s00001"])])
    report = scene.validate("twice")
    assert not_passed(report) == {"conservation": FAILED, "rows per hour": WARNED, "keys": FAILED}
    assert {"where": "s00001", "what": "in staging 2 times"} in result(report, "conservation").sample
    assert result(report, "keys").found == "10 duplicate keys"
    assert {"order_id": "o025", "rows": 2} in result(report, "keys").sample


def test_rows_that_no_slice_wrote(scene: Scene) -> None:
    """Somebody else appended to the branch: the ledger does not know the rows."""
    scene.replay("stranger")
    scene.rows([replace(INSIDE[0], order_id="x")]).writeTo(f"{scene.full_name}.branch_ab_stranger_e1").append()
    report = scene.validate("stranger")
    assert not_passed(report) == {"rows written": FAILED}
    assert result(report, "rows written").found == "21 rows in staging"


def test_a_duplicate_key(scene: Scene) -> None:
    orders = [replace(order, order_id="o015") if order.number == 16 else order for order in INSIDE]
    scene.replay("doubled", halves(orders))
    report = scene.validate("doubled")
    assert not_passed(report) == {"keys": FAILED}
    assert result(report, "keys").sample == ({"order_id": "o015", "rows": 2},)


def test_a_missing_value(scene: Scene) -> None:
    scene.replay("null", halves([replace(order, note=None) if order.number == 15 else order for order in INSIDE]))
    report = scene.asking(validation={"notNull": ["NOTE", "rating"]}).validate("null")
    assert not_passed(report) == {"nulls": FAILED}
    found = result(report, "nulls")
    assert found.found == "1 row with null NOTE; the table has no column rating"
    assert [row["order_id"] for row in found.sample] == ["o015"]


def test_rows_outside_the_range(scene: Scene) -> None:
    """A transform that moves rows in time, and a hand that deletes outside the range."""
    orders = [replace(order, hour=3) if order.number == 15 else order for order in INSIDE]
    scene.replay("moved", halves(orders))
    branch = f"{scene.full_name}.branch_ab_moved_e1"
    scene.spark.session.sql(f"DELETE FROM {branch} WHERE ordered_at < TIMESTAMP '2025-06-01 11:00:00'")
    report = scene.validate("moved")
    assert not_passed(report) == {"outside the range": FAILED, "rows written": FAILED}
    assert sorted((row["what"], row["rows"]) for row in result(report, "outside the range").sample) == [
        ("added", 1),
        ("removed", 10),
    ]


def test_a_changed_column_order(new_scene: Callable[[], Scene]) -> None:
    scene = new_scene()
    scene.stage("order")
    scene.spark.session.sql(f"ALTER TABLE {scene.full_name} ALTER COLUMN note FIRST")
    for slice_id, orders in HALVES.items():
        scene.append("order", slice_id, orders)
    report = scene.validate("order")
    assert not_passed(report) == {"columns": FAILED, "schema since the plan": FAILED}
    assert result(report, "columns").sample[0] == {
        "position": 1,
        "base": "order_id string required (id 1)",
        "staged": "note string (id 5)",
    }
    assert not any(bucket.changed for bucket in report.buckets), "the rows themselves are the same"


def test_a_column_added_since_the_plan(new_scene: Callable[[], Scene]) -> None:
    scene = new_scene()
    scene.replay("late")
    scene.spark.session.sql(f"ALTER TABLE {scene.full_name} ADD COLUMN rating int")
    report = scene.validate("late")
    assert not_passed(report) == {"schema since the plan": FAILED}
    [column] = result(report, "schema since the plan").sample
    assert (column["position"], column["base"]) == (8, None)
    assert column["now"].startswith("rating int")


def test_a_snapshot_that_is_gone(scene: Scene) -> None:
    scene.replay("gone")
    with pytest.raises(SnapshotGoneError):
        replace(scene, base=12345).validate("gone")


def test_known_records_are_found_whatever_their_spelling(scene: Scene) -> None:
    known = [
        {"order_id": "o015", "amount": 15.5, "ordered_at": "2025-06-01T13:05:00+02:00"},
        {"ORDER_ID": "o016", "tags": {"b": 2, "a": 1}, "lines": [{"n": 1, "sku": "x"}], "rate": 1.50},
    ]
    (scene.folder / "known.jsonl").write_text("\n".join(json.dumps(record) for record in known))
    scene.replay("known")
    report = scene.asking(validation={"knownRecords": "known.jsonl"}).validate("known")
    assert not_passed(report) == {}
    assert result(report, "known records").found == "2 of 2 records found"


def test_a_wrong_row_is_told_by_a_known_record(scene: Scene) -> None:
    lines = [
        '{"order_id": "o015", "amount": 15.50, "note": "as sold"}',
        '{"order_id": "o016", "note": null}',
        '{"order_id": "o001"}',
        '{"order_id": "o017", "amount": "much"}',
        '{"order_id": "o017", "price": 1}',
        "not json",
        "",
    ]
    (scene.folder / "known.jsonl").write_text("\n".join(lines))
    scene.replay("wrong", halves(FIXED))
    report = scene.asking(validation={"knownRecords": "known.jsonl"}).validate("wrong")
    assert not_passed(report) == {"known records": FAILED}
    found = result(report, "known records")
    assert [(pair.before or {})["order_id"] for pair in found.pairs] == ["o015", "o016", "o001"]
    assert [(pair.after or {}).get("amount") for pair in found.pairs] == ["99.90", "16.50", None]
    assert {row["problem"] for row in found.sample} == {
        "line 4 does not fit the columns' types",
        "line 5 names columns the table does not have: price",
        "line 6 is not a JSON object with columns",
    }


def test_the_users_own_queries(scene: Scene) -> None:
    queries = {
        "nothing-dear": "SELECT order_id, amount FROM staged WHERE amount > 90",
        "only-the-range": f"SELECT count(*) n FROM staged HAVING n <> {len(INSIDE)}",
        "before": "WITH dear AS (SELECT * FROM base WHERE amount > 90) SELECT * FROM dear;",
        "production-is-whole": f"SELECT count(*) n FROM production HAVING n <> {len(BASE)}",
        "many": "SELECT a.order_id, b.order_id FROM staged a CROSS JOIN staged b -- twice the same name",
    }
    (scene.folder / "q.sql").write_text("SELECT 1 AS bad FROM staged WHERE note IS NULL")
    asked = {name: {"sql": sql} for name, sql in queries.items()} | {"from-a-file": {"file": "q.sql"}}
    scene.replay("queries", halves(FIXED))
    report = scene.asking(validation={"queries": asked}).validate("queries")
    assert not_passed(report) == {"query nothing-dear": FAILED, "query many": FAILED}
    assert result(report, "query nothing-dear").sample == ({"order_id": "o015", "amount": "99.90"},)
    many = result(report, "query many")
    assert many.found == "more than 20 rows"
    assert set(many.sample[0]) == {"order_id", "order_id (2)"}


def test_a_query_can_write_nothing(scene: Scene, capfd: pytest.CaptureFixture[str]) -> None:
    scene.replay("writes")
    table = scene.full_name
    hostile = {
        "insert": f"INSERT INTO {table} SELECT * FROM {table}",
        "with-insert": f"WITH x AS (SELECT * FROM {table}) INSERT INTO {table} SELECT * FROM x",
        "from-insert": f"FROM {table} INSERT INTO {table} SELECT *",
        "drop": f"DROP TABLE {table}",
        "delete": f"DELETE FROM {table}",
        "call": f"CALL lake.system.rollback_to_snapshot('{scene.table}', {scene.base})",
        "set": "SET spark.sql.ansi.enabled=false",
        "view": "CREATE OR REPLACE TEMP VIEW staged AS SELECT 1 WHERE false",
        "explain": "EXPLAIN SELECT 1",
        "script": "BEGIN SELECT 1; END",
        "two": f"SELECT 1; DROP TABLE {table}",
        "brackets": f"SELECT 1) x; DROP TABLE {table}; SELECT * FROM (SELECT 1",
        "reflection": "SELECT reflect('java.lang.System', 'setProperty', 'anabranch.hostile', '1')",
        "java": "SELECT java_method('java.lang.System', 'setProperty', 'anabranch.hostile', '1')",
        "misspelt": "SELEC 1",
        "unknown": "SELECT price FROM staged",
        "at-run-time": "SELECT 1 / (amount - amount) FROM staged",
    }
    asked = {name: {"sql": sql} for name, sql in hostile.items()}
    report = scene.asking(validation={"queries": asked}).validate("writes")
    assert not_passed(report) == {f"query {name}": FAILED for name in hostile}
    for name in ("insert", "with-insert", "from-insert", "drop", "delete", "call", "set", "view", "explain"):
        assert "only a single SELECT" in result(report, f"query {name}").found, name
    assert "`price` cannot be resolved" in result(report, "query unknown").found
    assert "DIVIDE_BY_ZERO" in result(report, "query at-run-time").found
    session = scene.spark.session
    assert session.table(table).count() == len(BASE)
    assert session._jvm.java.lang.System.getProperty("anabranch.hostile") is None  # type: ignore[union-attr]
    assert not session.catalog.tableExists("staged"), "the caller's session has no views of ours"
    assert "Traceback" not in "".join(capfd.readouterr())
    assert "stacktrace" not in "".join(capfd.readouterr())


def test_records_in_quarantine(scene: Scene) -> None:
    scene.replay("poison")
    name = f"{scene.full_name}__quarantine"
    session = scene.spark.session
    session.sql(
        f"CREATE TABLE {name} (pipeline string, run string, slice string, topic string, partition int, offset bigint, "
        "timestamp timestamp, key binary, value binary, reason string) USING iceberg"
    )
    session.sql(
        f"INSERT INTO {name} SELECT 'orders', run, 's00000', 't', 0, 12, TIMESTAMP '2025-06-01 11:00:00', NULL, "
        "X'00', 'no event time' FROM VALUES ('poison'), ('another'), (NULL) AS runs(run)"
    )
    report = scene.validate("poison")
    found = result(report, "quarantine")
    assert found.outcome is WARNED
    assert found.found == "none by the ledger, and 1 in the quarantine table"
    assert [(row["offset"], row["reason"]) for row in found.sample] == [(12, "no event time")]
    assert "value" not in found.sample[0]
