"""Which services do not answer, since when, and how long that may go on. Pure: probe results and a clock in."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from anabranch.project.quantities import roughly

PATIENCE = timedelta(seconds=5)
"""How long one probe may take. With a probe every five seconds a silent service is reported within eleven."""
REMINDER = timedelta(minutes=1)


@dataclass(frozen=True)
class Silence:
    """A service that does not answer, or did not for a while."""

    service: str
    since: datetime
    """The beginning of the first probe without an answer."""


@dataclass(frozen=True)
class Silent:
    """Report that it does not answer: once when that is noticed, then every minute."""

    silence: Silence
    at: datetime
    pauses_at: datetime | None
    first: bool


@dataclass(frozen=True)
class Answers:
    """Report that it answers again."""

    silence: Silence
    at: datetime


Notice = Silent | Answers


class Outages:
    """The state over all probes. `limit` is how long a service may be silent before the work is paused."""

    def __init__(self, limit: timedelta | None) -> None:
        self._limit = limit
        self._silent: dict[str, Silence] = {}
        self._reported: dict[str, datetime] = {}

    @property
    def silent(self) -> tuple[Silence, ...]:
        return tuple(self._silent.values())

    def observe(self, service: str, begun: datetime, answered: bool | None, now: datetime) -> Notice | None:
        """The result of a probe begun at `begun`; `answered` is None while it goes on."""
        if answered or (answered is None and now - begun < PATIENCE):
            former = self._silent.pop(service, None) if answered else None
            return None if former is None else Answers(former, now)
        known = self._silent.get(service)
        if known is not None and now - self._reported[service] < REMINDER:
            return None
        silence = self._silent.setdefault(service, Silence(service, begun))
        self._reported[service] = now
        return Silent(silence, now, self._pauses_at(silence), first=known is None)

    def over_limit(self, now: datetime) -> Silence | None:
        """The service that has been silent for longer than the limit, if any."""
        over = [each for each in self.silent if (at := self._pauses_at(each)) is not None and now >= at]
        return min(over, key=lambda each: each.since) if over else None

    def _pauses_at(self, silence: Silence) -> datetime | None:
        return None if self._limit is None else silence.since + self._limit


REPLAY_WAITS = "The replay waits and continues by itself when it answers"


def words_of(notice: Notice, waits: str) -> str:
    """One line for people. `waits` is what the work does meanwhile."""
    silence = notice.silence
    lasted = roughly(notice.at - silence.since)
    if isinstance(notice, Answers):
        return f"{silence.service} answers again after {lasted}."
    limit = "" if notice.pauses_at is None else f"; it pauses at {notice.pauses_at:%H:%M:%S} UTC"
    return f"{silence.service} has not answered since {silence.since:%H:%M:%S} UTC ({lasted}). {waits}{limit}."
