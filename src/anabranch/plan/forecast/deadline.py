"""When a backfill may run, and what the contract demands once its deadline has passed. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from anabranch.contract.backfill import Schedule
from anabranch.project.quantities import format_moment

A_DAY = timedelta(days=1)
OnMiss = Literal["pause", "retry", "scaleOut", "rollback"]


@dataclass(frozen=True)
class TimeSlot:
    """The time slot in effect: the contract's, or the same hours of a later day after a retried miss."""

    start: datetime | None
    deadline: datetime


def current_slot(schedule: Schedule, missed_at: datetime | None) -> TimeSlot | None:
    """The slot in effect; None without a deadline. With `retry`, a miss at `missed_at` moves it by whole days to the
    first slot that ends later."""
    if schedule.deadline is None:
        return None
    if schedule.on_miss != "retry" or missed_at is None:
        return TimeSlot(schedule.start_after, schedule.deadline)
    days = max(1, (missed_at - schedule.deadline) // A_DAY + 1)
    start = schedule.start_after and schedule.start_after + days * A_DAY
    return TimeSlot(start, schedule.deadline + days * A_DAY)


@dataclass(frozen=True)
class Miss:
    choice: OnMiss
    deadline: datetime
    next_slot: TimeSlot | None = None
    """Of `retry`."""

    def document(self) -> dict[str, Any]:
        following = self.next_slot
        return {
            "choice": self.choice,
            "deadline": format_moment(self.deadline),
            "not_before": None if following is None or following.start is None else format_moment(following.start),
            "next_deadline": None if following is None else format_moment(following.deadline),
        }


def missed(schedule: Schedule | None, now: datetime, answered: datetime | None) -> Miss | None:
    """The missed deadline to act on now; None if there is none. `answered` is when a miss was last recorded.

    A miss is acted on once, so that a user can continue the run afterwards. With `retry`, the next slot can be missed
    again.
    """
    if schedule is None or schedule.deadline is None:
        return None
    slot = current_slot(schedule, answered)
    if slot is None or now < slot.deadline or (answered is not None and schedule.on_miss != "retry"):
        return None
    return Miss(schedule.on_miss, slot.deadline, current_slot(schedule, now) if schedule.on_miss == "retry" else None)


def too_early(schedule: Schedule | None, now: datetime, answered: datetime | None) -> datetime | None:
    """When the run may start or continue, if that is in the future."""
    if schedule is None:
        return None
    slot = current_slot(schedule, answered)
    start = schedule.start_after if slot is None else slot.start
    return start if start is not None and now < start else None
