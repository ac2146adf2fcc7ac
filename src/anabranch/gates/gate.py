"""What a gate is: it looks at facts, and says how far something is known, who answers for it and what is to be done."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Protocol

from anabranch.gates.colour import Colour
from anabranch.gates.evidence import Evidence
from anabranch.gates.facts import GateFacts
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
    failed: bool = False
    """Of a red gate: whether a check failed. Otherwise the answer is unknown."""
    good_until: datetime | None = None
    """None: it is looked at anew each time."""

    @property
    def cause(self) -> str | None:
        """Why it is red: `failed` or `unknown`; None: it is not red."""
        if self.colour is not Colour.RED:
            return None
        return "failed" if self.failed else "unknown"

    def document(self) -> dict[str, Any]:
        return {
            "gate": self.gate,
            "colour": self.colour.value,
            "words": self.words,
            "cause": self.cause,
            "figures": dict(self.figures),
            "owner": self.owner,
            "to_green": self.to_green or None,
            "at": instant_text(self.at),
            "good_until": None if self.good_until is None else instant_text(self.good_until),
        }


class Gate(Protocol):
    """Pure: the same facts give the same judgement."""

    def __call__(self, facts: GateFacts) -> Judgement: ...


@dataclass(frozen=True)
class GateFinding:
    """One thing that a gate has to say; the worst of several is its colour."""

    colour: Colour
    words: str
    to_green: str = ""
    failed: bool = False


def failed(words: str, to_green: str) -> GateFinding:
    """Red: a check failed. It blocks every replay until it passes or is overridden by name."""
    return GateFinding(Colour.RED, words, to_green, failed=True)


def unknown(words: str, to_green: str) -> GateFinding:
    """Red: nothing was measured. It blocks a replay that is high-volume or business-critical."""
    return GateFinding(Colour.RED, words, to_green)


def untested(words: str, to_green: str) -> GateFinding:
    """Yellow: a design is there, and no test of it counts."""
    return GateFinding(Colour.YELLOW, words, to_green)


def judged(
    gate: str,
    findings: list[GateFinding],
    otherwise: str,
    *,
    owner: str,
    at: datetime,
    figures: Mapping[str, object] | None = None,
) -> Judgement:
    """The gate by what was found against it, worst first; `otherwise` are its words if nothing was."""
    order = (Colour.RED, Colour.YELLOW, Colour.GREEN)
    told = sorted(findings, key=lambda each: (order.index(each.colour), not each.failed))
    return Judgement(
        gate,
        told[0].colour if told else Colour.GREEN,
        "; ".join(each.words for each in told) or otherwise,
        owner,
        at,
        dict(figures or {}),
        "; ".join(each.to_green for each in told if each.to_green),
        failed=any(each.failed for each in told),
    )


def never_measured(gate: str, words: str, *, owner: str, at: datetime, to_green: str) -> Judgement:
    """Red: the gate rests on evidence, and there is none."""
    return judged(gate, [unknown(words, to_green)], "", owner=owner, at=at)


def aged(judgement: Judgement, evidence: Evidence, now: datetime, again: str) -> Judgement:
    """What rests on evidence, by its age: what was good and is old is no longer tested; what failed still has.

    So that nobody passes a red gate by waiting.
    """
    fresh = replace(judgement, at=evidence.at, good_until=evidence.good_until)
    if evidence.counts(now) or judgement.colour is Colour.RED:
        return fresh
    old = f"{judgement.words} (measured {evidence.at:%Y-%m-%d %H:%M}, too long ago)"
    return replace(fresh, colour=Colour.YELLOW, words=old, to_green=judgement.to_green or again)
