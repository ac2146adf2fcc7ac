"""When a backfill may run, and what is to be done once its deadline has passed: the contract's own choice. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from anabranch.contract.backfill import Schedule
from anabranch.project.quantities import format_moment

A_DAY = timedelta(days=1)
OnMiss = Literal["pause", "retry", "scaleOut", "rollback"]


@dataclass(frozen=True)
class Opening:
    """The schedule that counts now: the contract's, or the same hours of a later day once a miss was put off."""

    start: datetime | None
    deadline: datetime


def opening(schedule: Schedule, put_off_at: datetime | None) -> Opening | None:
    """None: there is no deadline. With `retry`, a miss moves it by whole days, to the first that ends later."""
    if schedule.deadline is None:
        return None
    if schedule.on_miss != "retry" or put_off_at is None:
        return Opening(schedule.start_after, schedule.deadline)
    days = max(1, (put_off_at - schedule.deadline) // A_DAY + 1)
    start = schedule.start_after and schedule.start_after + days * A_DAY
    return Opening(start, schedule.deadline + days * A_DAY)


@dataclass(frozen=True)
class Miss:
    choice: OnMiss
    deadline: datetime
    next_opening: Opening | None = None
    """Of `retry`."""

    def document(self) -> dict[str, Any]:
        following = self.next_opening
        return {
            "choice": self.choice,
            "deadline": format_moment(self.deadline),
            "not_before": None if following is None or following.start is None else format_moment(following.start),
            "next_deadline": None if following is None else format_moment(following.deadline),
        }


def missed(schedule: Schedule | None, now: datetime, answered: datetime | None) -> Miss | None:
    """What to carry out now. `answered` is when a miss was last put on record.

    It is answered once: whoever goes on after that has been told, and goes on. One that was put off may be missed
    again, and is put off again.
    """
    if schedule is None or schedule.deadline is None:
        return None
    counts = opening(schedule, answered)
    if counts is None or now < counts.deadline or (answered is not None and schedule.on_miss != "retry"):
        return None
    return Miss(schedule.on_miss, counts.deadline, opening(schedule, now) if schedule.on_miss == "retry" else None)


def too_early(schedule: Schedule | None, now: datetime, answered: datetime | None) -> datetime | None:
    """When it may begin or go on, if that is still to come."""
    if schedule is None:
        return None
    counts = opening(schedule, answered)
    start = schedule.start_after if counts is None else counts.start
    return start if start is not None and now < start else None
