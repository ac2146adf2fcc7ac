"""A gate judges facts: its colour, the reason, who is responsible, and what turns it green."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Protocol

from anabranch.gates.colour import Colour
from anabranch.gates.evidence import Evidence
from anabranch.gates.facts import GateFacts
from anabranch.runs.canonical import instant_text

CLUSTER_OWNER = "the operator of the Kafka cluster"


@dataclass(frozen=True)
class Judgement:
    gate: str
    colour: Colour
    words: str
    owner: str
    """Who is responsible."""
    at: datetime
    """When its evidence was measured, or the observation was made."""
    figures: Mapping[str, object] = field(default_factory=dict)
    """The measurements, plain JSON values."""
    to_green: str = ""
    """The command or the action that turns it green; empty if it is green."""
    failed: bool = False
    """Whether a red gate is red because a check failed; otherwise its answer is unknown."""
    good_until: datetime | None = None
    """None: it is observed again each time."""

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
    """One reason of a gate; the worst of several is its colour."""

    colour: Colour
    words: str
    to_green: str = ""
    failed: bool = False


def failed(words: str, to_green: str) -> GateFinding:
    """Red: a check failed. It blocks every replay until it passes or is overridden by name."""
    return GateFinding(Colour.RED, words, to_green, failed=True)


def unknown(words: str, to_green: str) -> GateFinding:
    """Red: nothing was measured. It blocks a high-volume or business-critical replay."""
    return GateFinding(Colour.RED, words, to_green)


def untested(words: str, to_green: str) -> GateFinding:
    """Yellow: designed or declared, without a valid test."""
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
    """The judgement from the findings, worst first; `otherwise` is its text if there are none."""
    order = (Colour.RED, Colour.YELLOW, Colour.GREEN)
    ordered = sorted(findings, key=lambda each: (order.index(each.colour), not each.failed))
    return Judgement(
        gate,
        ordered[0].colour if ordered else Colour.GREEN,
        "; ".join(each.words for each in ordered) or otherwise,
        owner,
        at,
        dict(figures or {}),
        "; ".join(each.to_green for each in ordered if each.to_green),
        failed=any(each.failed for each in ordered),
    )


def never_measured(gate: str, words: str, *, owner: str, at: datetime, to_green: str) -> Judgement:
    """Red: the gate requires evidence, and there is none."""
    return judged(gate, [unknown(words, to_green)], "", owner=owner, at=at)


def aged(judgement: Judgement, evidence: Evidence, now: datetime, again: str) -> Judgement:
    """The judgement with the age of its evidence: a pass that has expired is yellow, a failure stays red.

    Otherwise waiting would open a red gate.
    """
    fresh = replace(judgement, at=evidence.at, good_until=evidence.good_until)
    if evidence.counts(now) or judgement.colour is Colour.RED:
        return fresh
    old = f"{judgement.words} (expired: measured {evidence.at:%Y-%m-%d %H:%M} UTC)"
    return replace(fresh, colour=Colour.YELLOW, words=old, to_green=judgement.to_green or again)
