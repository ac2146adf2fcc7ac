"""The race against retention as rows and lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from math import isfinite
from typing import Any

from anabranch.plan.retention.decision import RaceAnswer, RaceDecision, seconds_words
from anabranch.plan.retention.race import SAFETY
from anabranch.project.quantities import roughly
from anabranch.runs.canonical import instant

HEADINGS = ("partition", "offset", "slice", "time to loss", "by", f"time needed (x {SAFETY})", "to spare")
PARTITIONS_SHOWN = 12


def has_limit(decision: RaceDecision) -> bool:
    """Whether anything that is needed expires, or may: without a limit there is no race."""
    return any(each.loss is None or isfinite(each.loss.seconds) or each.is_lost for each in decision.race)


def rows_of(decision: RaceDecision) -> Iterator[tuple[str, ...]]:
    """The tightest slice of each partition, the worst partition first; `-o json` has all of them."""
    for each in decision.race[:PARTITIONS_SHOWN]:
        loss = each.loss
        yield (
            str(each.partition),
            f"{each.offset:,}",
            each.slice_id,
            "unknown" if loss is None else seconds_words(loss.seconds),
            "" if loss is None or loss.by is None else loss.by.value,
            "unknown" if decision.rate is None else seconds_words(each.needed),
            "unknown" if loss is None else _spare(each.headroom),
        )


def race_words(decision: RaceDecision) -> Iterator[str]:
    """How it is decided, and what was considered before."""
    if len(decision.race) > PARTITIONS_SHOWN:
        yield f"… {len(decision.race) - PARTITIONS_SHOWN:,} more partitions with more to spare"
    rate = decision.rate or "unknown until a rehearsal (anabranch rehearse -f CONTRACT) or the first slice"
    yield f"rate: {rate}"
    for number, step in enumerate(decision.steps, start=1):
        yield f"{number}. {step}"
    if decision.answer is RaceAnswer.LOST:
        yield "apply is refused: raise retention.ms of the topic, allow a faster replay, or narrow the range"


def countdown(details: Mapping[str, Any], now: datetime, *, shown: int = 3) -> Iterator[str]:
    """The time left of the tightest partitions, by what a replay noted."""
    for each in details["partitions"][:shown]:
        if each["expires_at"] is None:
            continue
        left = (instant(each["expires_at"]) - now).total_seconds()
        spare = each["headroom_seconds"]
        margin = "" if spare is None else f", {_spare(spare)} to spare when it was measured"
        when = "at any moment" if left <= 0 else f"in {roughly(timedelta(seconds=left))}"
        place = f"partition {each['partition']}, offset {each['offset']}"
        yield f"{place}: may be deleted {when} by {each['deleted_by']}{margin}"


def _spare(seconds: float) -> str:
    if not isfinite(seconds):
        return "never lost" if seconds > 0 else "lost"
    return roughly(timedelta(seconds=seconds)) if seconds >= 0 else f"-{roughly(timedelta(seconds=-seconds))}"
