"""The hours of the day in which a contract lets slices begin: open now, when next, and how long work takes. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, time, timedelta, timezone
from zoneinfo import ZoneInfo

from anabranch.contract.backfill import WEEKDAYS, Hours

A_DAY = timedelta(days=1)


def next_opening(hours: Hours, now: datetime) -> datetime:
    """`now` if the hours are open, else when they open next."""
    return next(max(start, now) for start, end in _spans(hours, now) if now < end)


def is_open(hours: Hours, now: datetime) -> bool:
    return next_opening(hours, now) == now


def end_of_work(hours: Hours | None, begin: datetime, work: timedelta) -> datetime:
    """When work that is begun at `begin` and done only within the hours has taken `work`. Without hours: at once on."""
    if hours is None:
        return begin + work
    for start, end in _spans(hours, begin):
        available = end - max(start, begin)
        if available >= work:
            return max(start, begin) + work
        work -= max(timedelta(), available)
    raise AssertionError("the hours never end")


def hours_words(hours: Hours) -> str:
    """For people: "22:00-06:00 Europe/Berlin, mon to fri"."""
    days = "" if len(hours.days) == len(WEEKDAYS) else f" on {', '.join(hours.days)}"
    return f"{hours.start:%H:%M}-{hours.end:%H:%M} {hours.time_zone}{days}"


def _spans(hours: Hours, now: datetime) -> Iterator[tuple[datetime, datetime]]:
    """The spans of the hours in UTC, from the first that may not have ended at `now`; without end."""
    zone = ZoneInfo(hours.time_zone)
    day = now.astimezone(zone).date() - A_DAY
    while True:
        if WEEKDAYS[day.weekday()] in hours.days:
            over_midnight = hours.end <= hours.start
            yield _moment(day, hours.start, zone), _moment(day + A_DAY if over_midnight else day, hours.end, zone)
        day += A_DAY


def _moment(day: date, at: time, zone: ZoneInfo) -> datetime:
    """A local time of day. One that a change of clocks skips is an hour later, one that occurs twice is the first."""
    return datetime.combine(day, at, zone).astimezone(timezone.utc)
