"""What is done about the race against retention, in a fixed order: nothing, order, share, extension, refusal. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum
from math import isfinite
from typing import Any

from anabranch.plan.retention.facts import RetentionFacts
from anabranch.plan.retention.loss import LossBy
from anabranch.plan.retention.race import (
    SAFETY,
    RaceEntry,
    SliceSeconds,
    is_by_size,
    is_lost,
    lateness,
    race_of,
    soonest_first,
)
from anabranch.plan.slices import Slice
from anabranch.project.quantities import format_duration, roughly


class RaceAnswer(str, Enum):
    """What the race is won by; each includes those before it that help."""

    ENOUGH_TIME = "enough-time"
    SOONEST_FIRST = "soonest-first"
    MORE_SHARE = "more-share"
    EXTENSION = "extension"
    LOST = "lost"


@dataclass(frozen=True)
class Share:
    """What a greater share of the replay budget would give."""

    seconds: SliceSeconds
    words: str


@dataclass(frozen=True)
class Extension:
    """The contract's permission to raise the topic's retention.ms while the replay reads."""

    up_to_ms: int
    withheld: str | None = None
    """Why it may not be used now, such as a missing approval; None: it may."""


@dataclass(frozen=True)
class Options:
    """What may be done besides reading in the plan's order."""

    fixed_order: str | None
    """Why the slices must keep their order; None: they may be read in any."""
    share: Share | None = None
    extension: Extension | None = None


@dataclass(frozen=True)
class RaceDecision:
    answer: RaceAnswer
    order: tuple[Slice, ...]
    """The slices as they are to be read."""
    race: tuple[RaceEntry, ...]
    """With `answer` applied; one entry a partition, the tightest first."""
    steps: tuple[str, ...]
    """What was considered, in order, each with its values."""
    at: datetime
    rate: str | None
    """What the time left is estimated from; None: unknown, and only what may be deleted at any moment is lost."""
    extend_to_ms: int | None = None
    extension_withheld: str | None = None
    """Why a permitted extension that would win the race may not be used now."""

    @property
    def headroom(self) -> float | None:
        """Seconds to spare of the tightest partition; None: no limit, or unknown."""
        seconds = -lateness(self.race)
        return seconds if isfinite(seconds) else None

    @property
    def words(self) -> str:
        """The step that decided."""
        return self.steps[-1]

    def document(self) -> dict[str, Any]:
        return {
            "answer": self.answer.value,
            "rate": self.rate,
            "safety": SAFETY,
            "headroom_seconds": None if self.headroom is None else round(self.headroom, 1),
            "extend_to_ms": self.extend_to_ms,
            "steps": list(self.steps),
            "order": [each.id for each in self.order] if self.answer is not RaceAnswer.ENOUGH_TIME else None,
            "partitions": [each.document(self.at) for each in self.race],
        }


def decide(
    slices: Sequence[Slice], seconds: SliceSeconds | None, facts: RetentionFacts, options: Options, rate: str | None
) -> RaceDecision:
    """The first answer that wins the race of these slices, which are those that are not staged.

    `seconds` is None while the replay's rate is unknown.
    """
    taken: SliceSeconds = seconds or (lambda _: 0.0)
    order: tuple[Slice, ...] = tuple(slices)
    steps: list[str] = []
    race = race_of(order, taken, facts)

    def decided(answer: RaceAnswer, words: str, extend_to: int | None = None) -> RaceDecision:
        return RaceDecision(answer, order, race, (*steps, words), facts.at, rate, extend_to)

    if not is_lost(race):
        return decided(RaceAnswer.ENOUGH_TIME, _won("in slice order", race))
    steps.append(_lost("in slice order", race))
    if options.fixed_order is not None:
        steps.append(f"the order stays: {options.fixed_order}")
    else:
        sooner = soonest_first(order, facts)
        sooner_race = race_of(sooner, taken, facts)
        if not is_lost(sooner_race):
            order, race = sooner, sooner_race
            return decided(RaceAnswer.SOONEST_FIRST, _won("with the soonest to expire read first", race))
        if lateness(sooner_race) < lateness(race):
            order, race = sooner, sooner_race
        steps.append(_lost("with the soonest to expire read first", sooner_race))
    if options.share is None:
        steps.append("there is no greater share of a replay budget to ask for")
    else:
        taken = options.share.seconds
        race = race_of(order, taken, facts)
        if not is_lost(race):
            return decided(RaceAnswer.MORE_SHARE, _won(f"with a greater share ({options.share.words})", race))
        steps.append(_lost(f"with a greater share ({options.share.words})", race))
    extended = None if options.extension is None else _extended(facts, options.extension.up_to_ms)
    if options.extension is None or extended is None:
        steps.append(_no_extension(options.extension))
        return decided(RaceAnswer.LOST, _summary(race))
    after = race_of(order, taken, extended)
    target = f"with retention.ms extended to {_span(options.extension.up_to_ms)}"
    if is_lost(after):
        by_size = "; it is deleted by retention.bytes, which no extension changes" if is_by_size(after) else ""
        steps.append(_lost(target, after) + by_size)
        return decided(RaceAnswer.LOST, _summary(race))
    if options.extension.withheld is not None:
        steps.append(f"{_won(target, after)}; not used: {options.extension.withheld}")
        return replace(decided(RaceAnswer.LOST, _summary(race)), extension_withheld=options.extension.withheld)
    race = after
    return decided(RaceAnswer.EXTENSION, _won(target, race), options.extension.up_to_ms)


def _extended(facts: RetentionFacts, up_to_ms: int) -> RetentionFacts | None:
    """The facts with a longer retention.ms; None: it is as long already."""
    settings = facts.settings
    if settings is None or settings.retention_ms is None or settings.retention_ms >= up_to_ms:
        return None
    return replace(facts, settings=replace(settings, retention_ms=up_to_ms))


def _no_extension(extension: Extension | None) -> str:
    if extension is None:
        return "the contract permits no extension (retention.extendUpTo)"
    return f"retention.ms is not below {_span(extension.up_to_ms)}, which retention.extendUpTo permits"


def _won(how: str, race: Sequence[RaceEntry]) -> str:
    tightest = next((each for each in race if isfinite(each.headroom)), None)
    if tightest is None:
        return f"{how}: nothing that is needed expires by what is known"
    return f"{how}: {seconds_words(tightest.headroom)} to spare; {_of(tightest)}"


def _lost(how: str, race: Sequence[RaceEntry]) -> str:
    return f"{how}: lost; {_of(race[0])}"


def _summary(race: Sequence[RaceEntry]) -> str:
    losing = [each for each in race if each.is_lost]
    more = f"; {len(losing) - 1} other partitions are too late as well" if len(losing) > 1 else ""
    return f"{_of(losing[0])}{more}"


def _of(entry: RaceEntry) -> str:
    place = f"partition {entry.partition}, offset {entry.offset}"
    if entry.loss is None:
        return f"{place}: retention unknown"
    if entry.loss.by is LossBy.GONE:
        return f"{place} was deleted"
    when = "at any moment" if entry.loss.seconds <= 0 else f"in {seconds_words(entry.loss.seconds)}"
    limit = "" if entry.loss.by is None else f" by {entry.loss.by.value}"
    needed = f"is read in {seconds_words(entry.needed)}" if entry.needed else "the rate of the replay is unknown"
    return f"{place} may be deleted {when}{limit}, {needed}"


def seconds_words(seconds: float) -> str:
    """A time to loss, or a time needed, for people."""
    if not isfinite(seconds):
        return "never" if seconds > 0 else "deleted"
    return "at any moment" if seconds <= 0 else roughly(timedelta(seconds=min(seconds, 3e9)))


def _span(milliseconds: int) -> str:
    return format_duration(timedelta(milliseconds=milliseconds))
