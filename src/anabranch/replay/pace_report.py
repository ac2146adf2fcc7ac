"""What limits a replay now, for `status`: the allowance, the governor's reason, each signal and its target. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from anabranch.replay.allowance import UNLIMITED
from anabranch.runs.pace import Pace
from anabranch.runs.states import State


def pace_document(pace: Pace | None, state: State) -> dict[str, Any] | None:
    """As the process of the run last noted it; None: nothing was noted, or nothing is replayed now."""
    if pace is None or state not in (State.REPLAYING, State.PAUSED):
        return None
    return {"at": pace.at.isoformat(), **pace.details}


def limit_words(pace: Pace | None) -> str | None:
    """In one line, for progress; None: nothing limits the replay."""
    return None if pace is None or pace.details["source"] == UNLIMITED.source else rate_words(pace.details)


def pace_lines(pace: Mapping[str, Any] | None) -> Iterator[str]:
    if pace is None:
        return
    yield f"rate      {rate_words(pace)}, as of {str(pace['at'])[:19]}Z"
    governor = pace.get("governor")
    if not governor:
        return
    if "off" in governor:
        yield f"governor  off: {governor['off']}"
        return
    yield f"governor  {rate_words({**governor, 'bytes_per_second': governor['allows'], 'source': ''})}"
    yield f"live      {governor['live']}"
    for each in governor["signals"]:
        words = f"{each['value']:,}, target {each['target']:,}, pressure {each['pressure']:.2f}"
        yield f"signal    {each['signal']}: {words}, {governor['age_seconds']:.0f} s old"
    for name, reason in governor["silent"].items():
        yield f"signal    {name}: not read: {reason}"


def rate_words(pace: Mapping[str, Any]) -> str:
    """One line: "governor: 5.0 MB/s; live lag 41 s, target 10 s"."""
    rate = "no limit" if pace["bytes_per_second"] is None else f"{pace['bytes_per_second'] / 1e6:,.1f} MB/s"
    words = f"{'no slice begins' if pace['paused'] else rate}; {pace['reason']}"
    return f"{pace['source']}: {words}" if pace["source"] else words
