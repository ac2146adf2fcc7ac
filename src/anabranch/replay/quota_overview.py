"""The quotas of replays and those of others, in words, and which of them counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from anabranch.contract.consumer_groups import REPLAY_PREFIX
from anabranch.plan.quotas import DEFAULT, Quota, QuotaEntity, matching
from anabranch.project.quantities import format_rate
from anabranch.replay.quota_brake import entity_of
from anabranch.replay.quota_ports import BrokerQuotas
from anabranch.replay.quota_sweep import orphans
from anabranch.runs.quotas import QuotaRecord
from anabranch.runs.run_lease import RunStore
from anabranch.runs.store import RunReader

ANY_RUN = f"{REPLAY_PREFIX}-RUN"


@dataclass(frozen=True)
class QuotaOverview:
    """The open quotas of a control database, and those of others that apply to a replay."""

    user: str | None
    ours: tuple[QuotaRecord, ...]
    orphans: frozenset[int]
    """Numbers of the records whose process has ended."""
    others: tuple[Quota, ...]
    others_for_users: tuple[Quota, ...]
    """Where the replay's user is unknown: quotas of users, one of which may apply and would win."""

    @property
    def precedence(self) -> tuple[str, ...]:
        own = f"the quota that a run sets, for {QuotaEntity(self.user, ANY_RUN).words}"
        may = tuple(f"{each.words} (if the replay is this user)" for each in self.others_for_users)
        others = tuple(each.words for each in self.others)
        first = [each for each in self.others if self.user is None and each.entity.user is not None]
        before = tuple(each.words for each in first)
        return (*may, *before, own, *(each for each in others if each not in before))

    def document(self) -> dict[str, Any]:
        return {
            "user": self.user,
            "ours": [
                {
                    "run": each.run_id,
                    "words": entity_of(each).words,
                    **entity_of(each).document(),
                    "bytes_per_second": each.value,
                    "intended": each.intended,
                    "state": self._state(each),
                    "set_at": None if each.set_at is None else each.set_at.isoformat(),
                    "verified_at": None if each.verified_at is None else each.verified_at.isoformat(),
                }
                for each in self.ours
            ],
            "others": [each.document() for each in (*self.others_for_users, *self.others)],
            "precedence": list(self.precedence),
        }

    def _state(self, record: QuotaRecord) -> str:
        if record.number in self.orphans:
            return "left by an ended process: anabranch quotas sweep"
        return quota_state(record)


def quota_state(record: QuotaRecord) -> str:
    """How far a quota is, in words: set means read back, and verified that the replay was seen throttled by it."""
    if not record.is_open:
        return f"{record.end.value if record.end else 'ended'}{f': {record.note}' if record.note else ''}"
    if record.value is None:
        return "being set"
    if record.verified_at is None:
        return "set and read back; not yet seen to throttle"
    return f"verified: brokers throttled the replay by it at {record.verified_at:%H:%M:%S}Z"


def overview_of(
    store: RunStore, brokers: BrokerQuotas, user: str | None, now: datetime, is_gone: Callable[[str], bool]
) -> QuotaOverview:
    """Changes nothing. Raises QuotaRefusedError or KafkaUnreachableError."""
    records = tuple(store.reader.quotas(only_open=True))
    ours = {entity_of(each) for each in records}
    foreign = [each for each in brokers.all() if each.entity not in ours]
    named = [each for each in foreign if user is None and each.entity.user not in (None, DEFAULT)]
    return QuotaOverview(
        user,
        records,
        frozenset(each.number for each in orphans(store, now, is_gone)),
        tuple(matching(foreign, user, ANY_RUN)),
        tuple(sorted(named, key=lambda each: each.entity.rank)),
    )


def quota_line(reader: RunReader, run_id: str) -> str | None:
    """The newest quota of a run, for `status`; None: it has set none."""
    records = reader.quotas(run_id=run_id)
    if not records:
        return None
    last = records[-1]
    value = last.value if last.value is not None else last.intended
    return f"{format_rate(value or 0)} per broker for {entity_of(last).words}; {quota_state(last)}"
