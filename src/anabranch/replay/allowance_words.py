"""What limits a replay and why, in one line: "Rate 5.0 MB/s by the governor: live lag 41 s, target 10 s". Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anabranch.project.quantities import format_rate
from anabranch.replay.allowance import Allowance

SOURCES = {
    "budget": "the replay budget",
    "contract": "the contract",
    "governor": "the governor",
    "impact": "the impact measurement",
    "pause": "the pause of all replays",
    "schedule": "the schedule",
    "throttle": "an operator",
    "veto": "the veto",
}
"""Each source of limits as a phrase."""


def source_words(source: str) -> str:
    return SOURCES.get(source, f"the {source}")


def hold_words(allowance: Allowance) -> str:
    """Why nothing begins: "held by the replay budget: 2nd of 3, waits for run X"."""
    return f"held by {source_words(allowance.source)}: {allowance.reason}"


def limit_words(allowance: Allowance) -> str:
    """What applies now, for a line that has a label already: "5.0 MB/s by the governor: live lag 41 s, target 10 s"."""
    if allowance.source == "none":
        return allowance.reason
    return f"{rate_words(allowance)} by {source_words(allowance.source)}: {allowance.reason}"


def rate_words(allowance: Allowance) -> str:
    if allowance.stands_still:
        return "reading stopped"
    if allowance.paused:
        return "next slice held"
    return "no limit" if allowance.bytes_per_second is None else format_rate(allowance.bytes_per_second)


def notice_words(allowance: Allowance) -> str:
    """The same as a line of its own: "Rate 5.0 MB/s by the governor: …", "Next slice held by the veto: …"."""
    words = limit_words(allowance)
    limited = allowance.bytes_per_second is not None and not allowance.paused
    return f"Rate {words}" if limited else words[:1].upper() + words[1:]


def allowance_of(details: Mapping[str, Any]) -> Allowance:
    """The allowance that a process of the run has noted."""
    return Allowance(details["source"], details["reason"], details["bytes_per_second"], details["paused"])
