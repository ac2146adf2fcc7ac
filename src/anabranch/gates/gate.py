"""What a gate is: it looks at facts, and says how far something is known, who answers for it and what is to be done."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Protocol

from anabranch.gates.colour import Colour
from anabranch.gates.evidence import Evidence
from anabranch.gates.facts import Facts
from anabranch.runs.canonical import instant_text

CLUSTER_OWNER = "whoever runs the Kafka cluster"


@dataclass(frozen=True)
class Judgement:
    gate: str
    colour: Colour
    words: str
    owner: str
    """Who answers for it."""
    at: datetime
    """When what it rests on was measured."""
    figures: Mapping[str, object] = field(default_factory=dict)
    """What was measured, plain JSON values."""
    to_green: str = ""
    """What turns it green; empty if it is."""
    good_until: datetime | None = None
    """None: it is looked at anew each time."""

    def document(self) -> dict[str, Any]:
        return {
            "gate": self.gate,
            "colour": self.colour.value,
            "words": self.words,
            "figures": dict(self.figures),
            "owner": self.owner,
            "to_green": self.to_green or None,
            "at": instant_text(self.at),
            "good_until": None if self.good_until is None else instant_text(self.good_until),
        }


class Gate(Protocol):
    """Pure: the same facts give the same judgement."""

    def __call__(self, facts: Facts) -> Judgement: ...


@dataclass(frozen=True)
class Finding:
    """One thing that a gate has to say; the worst of several is its colour."""

    colour: Colour
    words: str
    to_green: str = ""


def judged(
    gate: str,
    findings: list[Finding],
    otherwise: str,
    *,
    owner: str,
    at: datetime,
    figures: Mapping[str, object] | None = None,
) -> Judgement:
    """The gate by what was found against it, worst first; `otherwise` are its words if nothing was."""
    order = (Colour.RED, Colour.YELLOW, Colour.GREEN)
    told = sorted(findings, key=lambda each: order.index(each.colour))
    return Judgement(
        gate,
        told[0].colour if told else Colour.GREEN,
        "; ".join(each.words for each in told) or otherwise,
        owner,
        at,
        dict(figures or {}),
        "; ".join(each.to_green for each in told if each.to_green),
    )


def aged(judgement: Judgement, evidence: Evidence, now: datetime, again: str) -> Judgement:
    """What rests on evidence, by its age: what was good and is old is no longer tested; what failed still has.

    So that nobody passes a red gate by waiting.
    """
    fresh = replace(judgement, at=evidence.at, good_until=evidence.good_until)
    if evidence.counts(now) or judgement.colour is Colour.RED:
        return fresh
    old = f"{judgement.words} (measured {evidence.at:%Y-%m-%d %H:%M}, too long ago)"
    return replace(fresh, colour=Colour.YELLOW, words=old, to_green=judgement.to_green or again)
