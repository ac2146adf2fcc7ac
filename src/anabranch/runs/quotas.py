"""The record of a broker quota that a run sets: intended before it is set, and ended when it is gone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from anabranch.runs.lease import Lease


class QuotaEnd(str, Enum):
    """How the record of a quota ended."""

    REMOVED = "removed"
    GONE = "gone"
    """It was not there any more, or had never been set."""
    CHANGED = "changed"
    """Its value was not ours any more: another user set it, so it was left."""
    REFUSED = "refused"
    """The brokers refused to set it: there was none."""


@dataclass(frozen=True)
class QuotaRecord:
    """One quota of one epoch of a run."""

    number: int
    run_id: str
    epoch: int
    cluster: str
    """The cluster's id."""
    user: str | None
    """None: the quota is of the client id alone."""
    client_id: str
    value: int | None
    """Bytes per second and broker, as last read back; None: never."""
    intended: int | None
    """The value that is being set; the process may have ended before or after it was."""
    intended_at: datetime
    set_at: datetime | None = None
    """When `value` was read back."""
    verified_at: datetime | None = None
    """When the replay's consumers were first seen throttled by it; None: never."""
    ended_at: datetime | None = None
    end: QuotaEnd | None = None
    note: str | None = None
    """Details of the end."""

    @property
    def is_open(self) -> bool:
        """Whether the quota may still be there."""
        return self.ended_at is None

    def is_ours(self, found: int) -> bool:
        """Whether a value found at the brokers is one that this record set or was about to set."""
        return found in (self.value, self.intended)


def is_orphan(record: QuotaRecord, lease: Lease, now: datetime, is_gone: Callable[[str], bool]) -> bool:
    """Whether the process that set the quota has ended, or was superseded, without removing it."""
    if not record.is_open:
        return False
    if lease.epoch != record.epoch or lease.holder is None or is_gone(lease.holder):
        return True
    return lease.expires_at is not None and lease.expires_at < now
