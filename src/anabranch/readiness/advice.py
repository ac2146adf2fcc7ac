"""Whether to backfill at all: the four ways to deal with wrong rows, and which of them to take, and why. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from typing import Any

from anabranch.project.quantities import roughly
from anabranch.readiness.incident import Incident, LiveCode, Money, Price, Usage, no_price

FEW_EVENTS = 1000
"""As many as somebody can write and have read over by somebody else."""
FEW_PER_RECORD = 100
"""Compensating is worth it where a replay reads at least so many records for each wrong row."""
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
    """On those who read the topic and the table."""

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
    """What has to be done before, whichever way is taken."""

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
        return Way.ACCEPT, f"{_wrong(damage)} wrong, which its readers can live with"
    if Way.COMPENSATE in possible and _few(damage):
        return Way.COMPENSATE, (
            f"{_wrong(damage)} wrong, and a replay would read {damage.records:,} records for them; an event for each "
            "puts its row right"
        )
    if Way.BACKFILL in possible and (_in_time(damage, backfill.time) or Way.REFRESH not in possible):
        return (
            Way.BACKFILL,
            "the topic still has every record of the range, and the rows change in one commit, with a way back",
        )
    if damage.archive is not None:
        why = backfill.obstacle or "Retention may overtake a replay of the topic."
        return Way.REFRESH, f"{why} {damage.archive.table} has the raw records."
    if Way.COMPENSATE in possible:
        return Way.COMPENSATE, f"{backfill.obstacle} Events that take the wrong rows back are what is left."
    return Way.ACCEPT, (
        f"{backfill.obstacle} {refresh.obstacle}; tell the readers of {damage.table} which rows not to rely on"
    )


def _first(damage: Incident, recommended: Way) -> tuple[str, ...]:
    found = []
    live = f"anabranch live stop {damage.pipeline}; anabranch live start {damage.pipeline}"
    if recommended is not Way.ACCEPT and damage.live is LiveCode.THE_SAME:
        found.append(
            f"mend the transform: the code on disk is what wrote {damage.table}, and gives the same rows again "
            "(unless what was wrong lay outside it)"
        )
    if damage.live is LiveCode.NOT_RESTARTED:
        found.append(f"restart live with the code on disk, or it goes on writing by the former one: {live}")
    in_time = _in_time(damage, _replay_time(damage))
    if recommended is Way.BACKFILL and not in_time:
        found.append("raise retention.ms of the topic now: its first records may go before the replay has read them")
    return tuple(found)


def _backfill(damage: Incident, price: Price) -> Option:
    time = _replay_time(damage)
    usage = Usage(broker_bytes=damage.bytes or 0, seconds=0.0 if time is None else time.total_seconds())
    known = damage.bytes is not None and time is not None and damage.obstacle is None
    beside = ", not touched but on the same brokers" if damage.readers.others else ""
    effect = (
        f"readers of {damage.table} see the rows before or the rows after, never a mix; whoever reads it as a stream "
        f"stops at that commit and has to be told; {damage.readers.of_the_topic()}{beside}"
    )
    return Option(Way.BACKFILL, damage.obstacle, time, price(usage) if known else None, effect)


def _compensate(damage: Incident, price: Price) -> Option:
    obstacle = None
    if damage.pipeline_class == "windowed":
        obstacle = "Live has closed the windows of the range, and drops what comes later."
    elif damage.affected is None:
        obstacle = "Nobody has said which rows are wrong (--affected-rows)."
    how = {
        "stateless": "wrong rows stay, with rows beside them that take them back: only readers who add up are helped",
        "upsert": "the row of each key is replaced as live takes the events in",
        "ordered": "each event is folded into its row: it must take back what the wrong one did",
        "windowed": "none",
    }[damage.pipeline_class]
    time = None
    if damage.affected is not None and damage.rates is not None:
        time = timedelta(seconds=damage.affected / damage.rates.records_per_second)
    everybody = "every reader of the topic gets these events too"
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
        f"readers of {damage.table} see one commit if it is one statement; it is made outside Anabranch, with no "
        "ledger, no checks and no way back of ours, and what live writes into the range meanwhile is yours to keep"
    )
    obstacle = "No table with the raw records was named (--archive)."
    return Option(Way.REFRESH, obstacle if damage.archive is None else None, time, cost, effect)


def _accept(damage: Incident) -> Option:
    return Option(Way.ACCEPT, None, timedelta(), None, f"{_wrong(damage)} wrong, and stay so")


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
    """Only by class upsert does an event alone put a row right, and only if live takes it in by the code on disk."""
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
