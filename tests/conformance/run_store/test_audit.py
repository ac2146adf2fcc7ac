"""The audit chain in the database: everything is on it once, and nothing on it can be changed unseen."""

from __future__ import annotations

import json
from dataclasses import astuple, replace
from itertools import combinations
from pathlib import Path

import pytest
from sqlalchemy import delete, select, update
from tests.conformance.run_store.forging import COLUMNS, head_of, put, rehashed, relinked, verdict_of
from tests.conformance.run_store.scene import submitted

from anabranch.adapters.sql.engine import make_engine, parse_url, reading, writing
from anabranch.adapters.sql.schema import audit, audit_head
from anabranch.adapters.sql.store import SqlRunStore
from anabranch.runs.audit import Anchor, AuditRecord, ChainFlaw
from anabranch.runs.run import RunUnknownError

LENGTH = 5


@pytest.fixture
def records(store: SqlRunStore) -> list[AuditRecord]:
    """A chain of five, written by the store."""
    submitted(store)
    for number in range(2, LENGTH + 1):
        store.writer.record_act("test.act", actor="ada", run_id="r1", details={"number": number})
    return list(store.reader.audit())


def other_value(column: str, value: object) -> object:
    if column in ("seq", "epoch"):
        return 1000 if value is None else int(str(value)) + 1000
    if column in ("previous", "hash"):
        return "f" * 64
    return "" if value else "other"


def test_records_are_as_written(store: SqlRunStore, records: list[AuditRecord]) -> None:
    assert [record.seq for record in records] == [1, 2, 3, 4, 5]
    assert json.loads(records[1].details) == {"number": 2}
    assert records[1].at == "2025-06-01T00:00:00.000000Z"
    verdict = store.reader.verify_audit()
    assert verdict.intact
    assert verdict.head == head_of(records)


def test_records_are_narrowed_down(store: SqlRunStore, records: list[AuditRecord]) -> None:
    store.writer.record_act("test.other", actor="bob")
    assert [record.seq for record in store.reader.audit(run_id="r1", after=1, limit=2)] == [2, 3]
    assert [record.seq for record in store.reader.audit(after=4)] == [5, 6]
    assert [record.seq for record in store.reader.audit(action="test.other")] == [6]
    with pytest.raises(RunUnknownError):
        store.writer.record_act("test.act", actor="ada", run_id="nope")


@pytest.mark.parametrize("action", ["run.promote", "lease.acquire"])
def test_nobody_records_an_act_that_did_not_happen(store: SqlRunStore, action: str) -> None:
    with pytest.raises(ValueError, match=action):
        store.writer.record_act(action, actor="ada")


@pytest.mark.parametrize("actor", ["", "ada\n", "\x1b[2J"])
def test_an_actor_has_a_readable_name(store: SqlRunStore, actor: str) -> None:
    with pytest.raises(ValueError, match="actor"):
        store.writer.record_act("test.act", actor=actor)
    assert store.reader.audit() == []


@pytest.mark.parametrize("column", COLUMNS)
def test_any_field_of_any_record_changed_is_found(store: SqlRunStore, records: list[AuditRecord], column: str) -> None:
    for seq in range(1, LENGTH + 1):
        value = other_value(column, getattr(records[seq - 1], column))
        flip = update(audit).where(audit.c.seq == seq).values({column: value})
        verdict = verdict_of(store, lambda db, flip=flip: db.execute(flip))  # type: ignore[misc]
        assert verdict.seq == seq
        assert verdict.flaw is (ChainFlaw.MISSING if column == "seq" else ChainFlaw.ALTERED)
        with writing(store.engine) as connection:
            put(connection, records, head_of(records))


@pytest.mark.parametrize("seq", range(1, LENGTH + 1))
def test_a_record_changed_together_with_its_hash_is_found_by_the_next_one(
    store: SqlRunStore, records: list[AuditRecord], seq: int
) -> None:
    forged = list(records)
    forged[seq - 1] = rehashed(replace(records[seq - 1], actor="eve"))
    verdict = verdict_of(store, lambda db: put(db, forged, head_of(records)))
    last = seq == LENGTH
    assert (verdict.flaw, verdict.seq) == (
        ChainFlaw.REWRITTEN if last else ChainFlaw.UNCHAINED,
        seq if last else seq + 1,
    )


@pytest.mark.parametrize("seq", range(1, LENGTH + 1))
def test_any_record_taken_out_is_found(store: SqlRunStore, records: list[AuditRecord], seq: int) -> None:
    verdict = verdict_of(store, lambda db: db.execute(delete(audit).where(audit.c.seq == seq)))
    assert (verdict.flaw, verdict.seq) == (ChainFlaw.TRUNCATED if seq == LENGTH else ChainFlaw.MISSING, seq)
    assert verdict.head == head_of(records[: seq - 1])


@pytest.mark.parametrize(("one", "other"), list(combinations(range(LENGTH), 2)))
def test_any_two_records_swapped_are_found(
    store: SqlRunStore, records: list[AuditRecord], one: int, other: int
) -> None:
    swapped = list(records)
    swapped[one], swapped[other] = (
        replace(records[other], seq=records[one].seq),
        replace(records[one], seq=records[other].seq),
    )
    verdict = verdict_of(store, lambda db: put(db, swapped, head_of(records)))
    assert (verdict.flaw, verdict.seq) == (ChainFlaw.ALTERED, one + 1)


@pytest.mark.parametrize("left", range(LENGTH))
def test_a_tail_cut_off_is_found(store: SqlRunStore, records: list[AuditRecord], left: int) -> None:
    verdict = verdict_of(store, lambda db: db.execute(delete(audit).where(audit.c.seq > left)))
    assert (verdict.flaw, verdict.seq) == (ChainFlaw.TRUNCATED, left + 1)


@pytest.mark.parametrize("left", range(LENGTH))
def test_a_tail_cut_off_together_with_the_head_is_found_by_an_anchor(
    store: SqlRunStore, records: list[AuditRecord], left: int
) -> None:
    verdict = verdict_of(store, lambda db: put(db, records[:left], head_of(records[:left])), head_of(records))
    assert (verdict.flaw, verdict.seq) == (ChainFlaw.TRUNCATED, left + 1)


def test_a_record_appended_behind_the_stores_back_is_found(store: SqlRunStore, records: list[AuditRecord]) -> None:
    forged = relinked([*records, replace(records[-1], actor="eve")])
    verdict = verdict_of(store, lambda db: put(db, forged, head_of(records)))
    assert (verdict.flaw, verdict.seq) == (ChainFlaw.APPENDED, LENGTH + 1)


@pytest.mark.parametrize("place", range(LENGTH))
def test_a_record_put_in_with_all_later_ones_renumbered_is_found(
    store: SqlRunStore, records: list[AuditRecord], place: int
) -> None:
    forged = relinked([*records[:place], replace(records[0], actor="eve"), *records[place:]])
    assert not verdict_of(store, lambda db: put(db, forged, head_of(records))).intact


@pytest.mark.parametrize("seq", range(1, LENGTH + 1))
def test_a_history_rewritten_with_its_head_is_found_by_any_anchor_taken_after(
    store: SqlRunStore, records: list[AuditRecord], seq: int
) -> None:
    forged = relinked([*records[: seq - 1], replace(records[seq - 1], actor="eve"), *records[seq:]])
    assert verdict_of(store, lambda db: put(db, forged, head_of(forged))).intact
    for witness in records[seq - 1 :]:
        verdict = store.reader.verify_audit(Anchor(witness.seq, witness.hash))
        assert (verdict.flaw, verdict.seq) == (ChainFlaw.REWRITTEN, witness.seq)


def test_a_lost_head_is_found(store: SqlRunStore, records: list[AuditRecord]) -> None:
    assert verdict_of(store, lambda db: db.execute(delete(audit_head))).flaw is ChainFlaw.TRUNCATED


def test_an_anchor_stays_good_while_the_chain_grows(store: SqlRunStore, records: list[AuditRecord]) -> None:
    witness = store.reader.verify_audit().head
    store.writer.record_act("test.act", actor="ada")
    assert store.reader.verify_audit(witness).intact


def test_the_column_list_is_the_records(store: SqlRunStore, records: list[AuditRecord]) -> None:
    with store.engine.connect() as connection:
        row = connection.execute(select(audit).where(audit.c.seq == 1)).one()
    assert tuple(row) == astuple(records[0])


def test_a_runs_newest_records_are_found_by_an_index(sqlite_template: Path) -> None:
    """A replay asks for them each second, and after days it has many older ones."""
    engine = make_engine(parse_url(f"sqlite:///{sqlite_template}"))
    with reading(engine) as connection:
        plan = "EXPLAIN QUERY PLAN SELECT * FROM audit WHERE run_id = 'r1' AND "
        newest = connection.exec_driver_sql(plan + "seq > 5 ORDER BY seq").all()
        by_action = connection.exec_driver_sql(plan + "action = 'a' AND seq > 5 ORDER BY seq").all()
    engine.dispose()
    assert [row.detail for row in newest] == ["SEARCH audit USING INDEX ix_audit_run_id (run_id=? AND seq>?)"]
    wanted = "SEARCH audit USING INDEX ix_audit_action (action=? AND run_id=? AND seq>?)"
    assert [row.detail for row in by_action] == [wanted]
