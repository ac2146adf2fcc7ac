"""Records of broker quotas: one open per epoch, intended before set, ended once, by whoever finds it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest
from tests.conformance.run_store.scene import HandClock, leased, submitted

from anabranch.adapters.sql.store import SqlRunStore
from anabranch.app.project_context import ProjectContext
from anabranch.app.quotas import sweep
from anabranch.runs.lease import SupersededError
from anabranch.runs.quotas import QuotaEnd, QuotaRecord, is_orphan


def intended(store: SqlRunStore, epoch: int, value: int = 5_000_000) -> QuotaRecord:
    return store.writer.intend_quota("r1", epoch, cluster="c", user="ANONYMOUS", client_id="replay-r1", value=value)


def test_a_change_has_one_record_that_knows_both_values(store: SqlRunStore) -> None:
    submitted(store)
    lease = leased(store)
    first = intended(store, lease.epoch)
    assert (first.value, first.intended, first.set_at) == (None, 5_000_000, None)
    confirmed = store.writer.confirm_quota(first.number, lease.epoch)
    assert (confirmed.value, confirmed.intended, confirmed.set_at is None) == (5_000_000, None, False)
    second = intended(store, lease.epoch, 2_000_000)
    assert (second.number, second.value, second.intended) == (first.number, 5_000_000, 2_000_000)
    assert second.is_ours(5_000_000)
    assert second.is_ours(2_000_000)
    assert not second.is_ours(3_000_000)
    assert store.reader.quotas(only_open=True) == [second]


def test_it_ends_once_and_the_next_one_is_another_record(store: SqlRunStore) -> None:
    submitted(store)
    lease = leased(store)
    number = intended(store, lease.epoch).number
    store.writer.verify_quota(number)
    ended = store.writer.end_quota(number, QuotaEnd.REMOVED)
    assert ended == store.writer.end_quota(number, QuotaEnd.CHANGED, "later")
    assert (ended.end, ended.note, ended.is_open, ended.verified_at is None) == (QuotaEnd.REMOVED, None, False, False)
    again = intended(store, lease.epoch)
    assert again.number != number
    assert [each.number for each in store.reader.quotas(run_id="r1")] == [number, again.number]
    assert store.reader.quotas(only_open=True) == [again]


def test_a_superseded_epoch_neither_intends_nor_confirms(store: SqlRunStore) -> None:
    submitted(store)
    former = leased(store, holder="a")
    number = intended(store, former.epoch).number
    lease = leased(store, holder="a")
    with pytest.raises(SupersededError):
        intended(store, former.epoch)
    with pytest.raises(SupersededError):
        store.writer.confirm_quota(number, former.epoch)
    assert store.writer.end_quota(number, QuotaEnd.GONE).end is QuotaEnd.GONE, "by the process that found it"
    assert intended(store, lease.epoch).epoch == lease.epoch


def test_whose_process_has_ended_is_judged_by_the_databases_time(store: SqlRunStore, clock: HandClock) -> None:
    """A machine whose clock is ahead would take the lease of another one for expired, and remove its quota."""
    submitted(store)
    lease = leased(store)
    assert lease.expires_at is not None
    record = intended(store, lease.epoch)
    assert store.now() == clock()
    assert not is_orphan(record, store.reader.lease("r1"), store.now(), lambda _: False)
    assert sweep(cast(ProjectContext, SimpleNamespace(kafka=None)), store, "bob") == [], "no broker is asked"
