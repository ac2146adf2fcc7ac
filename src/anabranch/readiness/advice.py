"""Whether to backfill at all: four ways to deal with wrong rows, the recommended one, and the reason. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from typing import Any

from anabranch.project.quantities import roughly
from anabranch.readiness.incident import Incident, LiveCode, Money, Price, Usage, no_price

FEW_EVENTS = 1000
"""As many as one person can write and another can review."""
FEW_PER_RECORD = 100
"""Compensating is worth it if a replay reads at least so many records for each wrong row."""
HEADROOM_PER_TIME = 2
"""Retention should leave twice as long as the replay takes, or it may overtake it."""


class Way(str, Enum):
    BACKFILL = "backfill"
    COMPENSATE = "compensating-events"
    REFRESH = "view-refresh"
    ACCEPT = "accept"


@dataclass(frozen=True)
class Option:
    way: Way
    obstacle: str | None
    """Why it can't be done; None: it can."""
    time: timedelta | None
    cost: Money | None
    effect: str
    """On the readers of the topic and the table."""

    def document(self) -> dict[str, Any]:
        return {
            "way": self.way.value,
            "possible": self.obstacle is None,
            "obstacle": self.obstacle,
            "seconds": None if self.time is None else self.time.total_seconds(),
            "cost": None if self.cost is None else {"amount": self.cost.amount, "currency": self.cost.currency},
            "effect": self.effect,
        }


@dataclass(frozen=True)
class Advice:
    options: tuple[Option, ...]
    recommended: Way
    reason: str
    first: tuple[str, ...]
    """What to do first, whichever way is taken."""

    def document(self) -> dict[str, Any]:
        return {
            "recommended": self.recommended.value,
            "reason": self.reason,
            "first": list(self.first),
            "options": [option.document() for option in self.options],
        }


def advise(damage: Incident, price: Price = no_price) -> Advice:
    options = (_backfill(damage, price), _compensate(damage, price), _refresh(damage, price), _accept(damage))
    recommended, reason = _choose(damage, {option.way: option for option in options})
    return Advice(options, recommended, reason, _first(damage, recommended))


def _choose(damage: Incident, options: dict[Way, Option]) -> tuple[Way, str]:
    backfill, refresh = options[Way.BACKFILL], options[Way.REFRESH]
    possible = {way for way, option in options.items() if option.obstacle is None}
    if damage.share is not None and damage.share <= damage.tolerable:
        return Way.ACCEPT, f"{_wrong(damage)} wrong, which is within the share that its readers tolerate"
    if Way.COMPENSATE in possible and _few(damage):
        return Way.COMPENSATE, (
            f"{_wrong(damage)} wrong, and a replay would read {damage.records:,} records for them; one event corrects "
            "each row"
        )
    if Way.BACKFILL in possible and (_in_time(damage, backfill.time) or Way.REFRESH not in possible):
        return (
            Way.BACKFILL,
            "the topic still has every record of the range; the rows change in one commit that can be rolled back",
        )
    if damage.archive is not None:
        why = backfill.obstacle or "Retention may overtake a replay of the topic."
        return Way.REFRESH, f"{why} {damage.archive.table} has the raw records."
    if Way.COMPENSATE in possible:
        return Way.COMPENSATE, f"{backfill.obstacle} Compensating events are the only way left."
    return Way.ACCEPT, (
        f"{backfill.obstacle} {refresh.obstacle}; inform the readers of {damage.table} which rows are wrong"
    )


def _first(damage: Incident, recommended: Way) -> tuple[str, ...]:
    found = []
    live = f"anabranch live stop {damage.pipeline}; anabranch live start {damage.pipeline}"
    if recommended is not Way.ACCEPT and damage.live is LiveCode.THE_SAME:
        found.append(
            f"fix the transform: the code on disk wrote {damage.table}, and a replay by it gives the same rows "
            "(unless the cause is outside of the code)"
        )
    if damage.live is LiveCode.NOT_RESTARTED:
        found.append(
            f"live's newest commit to {damage.table} is by other code than the code on disk; unless live was restarted "
            f"since, it still writes wrong rows. Restart it: {live}"
        )
    in_time = _in_time(damage, _replay_time(damage))
    if recommended is Way.BACKFILL and not in_time:
        found.append(
            "raise retention.ms of the topic now: its first records may be deleted before the replay has read them"
        )
    return tuple(found)


def _backfill(damage: Incident, price: Price) -> Option:
    time = _replay_time(damage)
    usage = Usage(broker_bytes=damage.bytes or 0, seconds=0.0 if time is None else time.total_seconds())
    known = damage.bytes is not None and time is not None and damage.obstacle is None
    beside = (
        "; the replay does not change their offsets, but reads from the same brokers" if damage.readers.others else ""
    )
    effect = (
        f"readers of {damage.table} see the rows before or after the commit, never a mix; streaming readers of the "
        f"table stop at that commit; {damage.readers.of_the_topic()}{beside}"
    )
    return Option(Way.BACKFILL, damage.obstacle, time, price(usage) if known else None, effect)


def _compensate(damage: Incident, price: Price) -> Option:
    obstacle = None
    if damage.pipeline_class == "windowed":
        obstacle = "Live has closed the windows of the range, and drops late events."
    elif damage.affected is None:
        obstacle = "The number of wrong rows is unknown (--affected-rows)."
    how = {
        "stateless": "wrong rows stay, and rows are added that offset them: this helps only readers that sum",
        "upsert": "live replaces the row of each key as it reads the events",
        "ordered": "live applies each event to its row: the event must offset the wrong one",
        "windowed": "none",
    }[damage.pipeline_class]
    time = None
    if damage.affected is not None and damage.rates is not None:
        time = timedelta(seconds=damage.affected / damage.rates.records_per_second)
    everybody = "every reader of the topic reads these events too"
    if damage.readers.others:
        everybody += f": {', '.join(each.group for each in damage.readers.others)}"
    seconds = 0.0 if time is None else time.total_seconds()
    return Option(
        Way.COMPENSATE, obstacle, time, None if time is None else price(Usage(seconds=seconds)), f"{how}; {everybody}"
    )


def _refresh(damage: Incident, price: Price) -> Option:
    time, cost = None, None
    if damage.archive is not None and damage.rates is not None:
        time = timedelta(seconds=damage.archive.rows / damage.rates.records_per_second)
        cost = price(Usage(storage_bytes=damage.archive.bytes, seconds=time.total_seconds()))
    effect = (
        f"readers of {damage.table} see one commit if it is one statement; it is made outside of Anabranch: no ledger, "
        "no validation, no rollback, and rows that live commits into the range meanwhile are not protected"
    )
    obstacle = "No table with the raw records was named (--archive)."
    return Option(Way.REFRESH, obstacle if damage.archive is None else None, time, cost, effect)


def _accept(damage: Incident) -> Option:
    return Option(Way.ACCEPT, None, timedelta(), None, f"{_wrong(damage)} wrong, and stay wrong")


def _replay_time(damage: Incident) -> timedelta | None:
    """From a rehearsal, with validation and promotion; else of reading alone, at the contract's rate."""
    if damage.obstacle is not None:
        return None
    if damage.rates is not None and damage.records is not None:
        replay = damage.records / damage.rates.records_per_second
        validate = damage.rows / 1e6 * damage.rates.validate_seconds_per_million_rows
        return timedelta(seconds=replay + validate + damage.rates.promote_seconds)
    if damage.bytes is not None and damage.bytes_per_second:
        return timedelta(seconds=damage.bytes / damage.bytes_per_second)
    return None


def _in_time(damage: Incident, time: timedelta | None) -> bool:
    if damage.headroom is None:
        return True
    return damage.headroom > HEADROOM_PER_TIME * (time or timedelta())


def _few(damage: Incident) -> bool:
    """Only in class upsert one event corrects a row, and only if live runs the code on disk."""
    return (
        damage.pipeline_class == "upsert"
        and damage.live in (LiveCode.FIXED, LiveCode.THE_SAME)
        and damage.affected is not None
        and damage.records is not None
        and damage.affected <= FEW_EVENTS
        and damage.affected * FEW_PER_RECORD <= damage.records
    )


def _wrong(damage: Incident) -> str:
    if damage.affected is None:
        return f"up to {damage.rows:,} rows are"
    return f"{damage.affected:,} of {damage.rows:,} rows ({damage.share or 0:.2%}) are"


def time_words(time: timedelta | None) -> str:
    if time is None:
        return "unknown until it is rehearsed"
    return "under 1s" if timedelta() < time < timedelta(seconds=1) else roughly(time)
