"""Evidence is kept in the audit chain, and read back as it was written."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

from anabranch.adapters.sql.store import SqlRunStore
from anabranch.gates.evidence import keep_evidence, newest_evidence

UNTIL = datetime(2025, 6, 8, 12, 30, tzinfo=timezone.utc)


def test_the_newest_of_a_kind_and_subject_counts(store: SqlRunStore) -> None:
    first = keep_evidence(store.writer, "rollback", "table/a", {"seconds": 2.5}, by="ada", good_until=UNTIL)
    keep_evidence(store.writer, "rollback", "table/b", {"seconds": 9.0}, by="ada", good_until=UNTIL)
    keep_evidence(store.writer, "rehearsal", "table/a", {"rate": 1}, by="ada", good_until=None)
    assert newest_evidence(store.reader, "rollback", "table/a") == first
    second = keep_evidence(store.writer, "rollback", "table/a", {"seconds": 3.5}, by="bob", good_until=UNTIL)
    assert newest_evidence(store.reader, "rollback", "table/a") == second
    assert (second.found, second.by, second.good_until) == ({"seconds": 3.5}, "bob", UNTIL)
    assert newest_evidence(store.reader, "rollback", "table/c") is None
    assert store.reader.verify_audit().intact


def test_evidence_expires(store: SqlRunStore) -> None:
    kept = keep_evidence(store.writer, "rollback", "table/a", {}, by="ada", good_until=UNTIL)
    assert kept.counts(UNTIL - timedelta(microseconds=1))
    assert not kept.counts(UNTIL)
    assert keep_evidence(store.writer, "rollback", "plan/1", {}, by="ada", good_until=None).counts(UNTIL)
