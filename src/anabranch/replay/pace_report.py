"""What limits a replay now, for `status`: the allowance, the governor's reason, each signal and its target. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from anabranch.replay.allowance import UNLIMITED, Allowance
from anabranch.replay.allowance_words import allowance_of, limit_words, notice_words, rate_words
from anabranch.runs.pace import Pace
from anabranch.runs.states import State


def pace_document(pace: Pace | None, state: State) -> dict[str, Any] | None:
    """As the process of the run last noted it; None: nothing was noted, or nothing is replayed now."""
    if pace is None or state not in (State.REPLAYING, State.PAUSED):
        return None
    return {"at": pace.at.isoformat(), **pace.details}


def pace_words(pace: Pace | None) -> str | None:
    """In one line, for progress; None: nothing limits the replay."""
    if pace is None or pace.details["source"] == UNLIMITED.source:
        return None
    return notice_words(allowance_of(pace.details))


def pace_lines(pace: Mapping[str, Any] | None) -> Iterator[str]:
    if pace is None:
        return
    yield f"rate      {limit_words(allowance_of(pace))}, as of {str(pace['at'])[:19]}Z"
    governor = pace.get("governor")
    if not governor:
        return
    if "off" in governor:
        yield f"governor  off: {governor['off']}"
        return
    own = Allowance("governor", governor["reason"], governor["allows"], governor["paused"])
    yield f"governor  {rate_words(own)}: {own.reason}"
    yield f"live      {governor['live']}"
    for each in governor["signals"]:
        words = f"{each['value']:,}, target {each['target']:,}, pressure {each['pressure']:.2f}"
        yield f"signal    {each['signal']}: {words}, {governor['age_seconds']:.0f} s old"
    for name, reason in governor["silent"].items():
        yield f"signal    {name}: not read: {reason}"
