"""Finds quotas that crashed runs left at the brokers, and removes those whose value is still ours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from anabranch.replay.quota_brake import REMOVED, end_words, entity_of, remove_quota
from anabranch.replay.quota_ports import BrokerQuotas
from anabranch.runs.quotas import QuotaEnd, QuotaRecord, is_orphan
from anabranch.runs.run_lease import RunStore


@dataclass(frozen=True)
class SweptQuota:
    record: QuotaRecord
    end: QuotaEnd
    note: str | None

    @property
    def words(self) -> str:
        return f"Left by run {self.record.run_id}: {end_words(entity_of(self.record), self.end, self.note)}"

    def document(self) -> dict[str, Any]:
        return {
            "run": self.record.run_id,
            "cluster": self.record.cluster,
            "entity": entity_of(self.record).document(),
            "outcome": self.end.value,
            "note": self.note,
        }


def orphans(store: RunStore, now: datetime, is_gone: Callable[[str], bool]) -> Sequence[QuotaRecord]:
    """Records of quotas that may be set and whose process does not hold its run any more. Asks no broker."""
    records = store.reader.quotas(only_open=True)
    return [each for each in records if is_orphan(each, store.reader.lease(each.run_id), now, is_gone)]


def sweep_quotas(
    store: RunStore,
    cluster_quotas: Callable[[], BrokerQuotas],
    actor: str,
    now: datetime,
    is_gone: Callable[[str], bool],
) -> Sequence[SweptQuota]:
    """Remove the orphans of this cluster. A quota whose value another user has changed is left, and reported.

    Repeating it is safe: a quota that is gone is recorded as such. Raises QuotaRefusedError or
    KafkaUnreachableError, with the records still open. The cluster is asked only if the records name an orphan.
    """
    found = orphans(store, now, is_gone)
    if not found:
        return []
    brokers = cluster_quotas()
    cluster, swept = brokers.cluster(), []
    for record in found:
        if record.cluster != cluster:
            continue
        end, note = remove_quota(brokers, record)
        store.writer.end_quota(record.number, end, note)
        result = SweptQuota(record, end, note)
        store.writer.record_act(
            REMOVED, actor=actor, run_id=record.run_id, details={**result.document(), "orphan": True}
        )
        swept.append(result)
    return swept
