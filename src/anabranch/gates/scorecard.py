"""The judgements of all gates, and whether one blocks the backfill."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from anabranch.errors import AnabranchError, ExitCode
from anabranch.gates.acknowledgements import Acknowledgement
from anabranch.gates.checks import (
    capacity,
    closure,
    compatibility,
    cost,
    governance,
    observability,
    offset_control,
    rollback,
    schema,
    side_effects,
    storage_path,
)
from anabranch.gates.colour import Colour, worst
from anabranch.gates.facts import GateFacts
from anabranch.gates.gate import Gate, Judgement
from anabranch.gates.overrides import GateOverride
from anabranch.gates.stakes import Stakes, blocks, may_be_acknowledged
from anabranch.runs.canonical import instant_text

GATES: Mapping[str, Gate] = {
    compatibility.NAME: compatibility.judge_compatibility,
    offset_control.NAME: offset_control.judge_offset_control,
    storage_path.NAME: storage_path.judge_storage_path,
    capacity.NAME: capacity.judge_capacity,
    cost.NAME: cost.judge_cost,
    governance.NAME: governance.judge_governance,
    schema.NAME: schema.judge_schema,
    rollback.NAME: rollback.judge_rollback,
    observability.NAME: observability.judge_observability,
    side_effects.NAME: side_effects.judge_side_effects,
    closure.NAME: closure.judge_closure,
}


CARD = "gates"
"""Evidence kind of a whole card, whose subject is `plan/<hash>`."""


class GateClosedError(AnabranchError):
    code = "gates.closed"
    exit_code = ExitCode.REFUSED


@dataclass(frozen=True)
class Scorecard:
    judgements: tuple[Judgement, ...]
    overrides: Mapping[str, GateOverride]
    plan: str
    """The plan's hash."""
    run: str | None
    at: datetime
    stakes: Stakes
    acknowledgements: Mapping[str, Acknowledgement] = field(default_factory=dict)
    """By gate. `stakes` decides whether one counts."""

    @property
    def colour(self) -> Colour:
        """The worst colour, overridden gates included."""
        return worst(each.colour for each in self.judgements)

    @property
    def counts(self) -> dict[str, int]:
        found = Counter(each.colour for each in self.judgements)
        return {colour.value: found[colour] for colour in Colour}

    @property
    def closed(self) -> tuple[Judgement, ...]:
        """The red gates that block: not overridden, and not acknowledged where that is sufficient."""
        return tuple(
            each
            for each in self.judgements
            if blocks(
                each,
                self.stakes,
                overridden=each.gate in self.overrides,
                acknowledged=each.gate in self.acknowledgements,
            )
        )

    @property
    def to_acknowledge(self) -> tuple[Judgement, ...]:
        """The red gates that may be acknowledged and are not."""
        return tuple(
            each
            for each in self.judgements
            if may_be_acknowledged(each, self.stakes)
            and each.gate not in self.overrides
            and each.gate not in self.acknowledgements
        )

    @property
    def acknowledged(self) -> Mapping[str, Acknowledgement]:
        """The acknowledgements in effect, of gates that are red now."""
        return {
            each.gate: self.acknowledgements[each.gate]
            for each in self.judgements
            if each.gate in self.acknowledgements and may_be_acknowledged(each, self.stakes)
        }

    def short_of_green(self, gates: Collection[str]) -> tuple[Judgement, ...]:
        """Those of these gates that are neither green nor overridden."""
        return tuple(
            each
            for each in self.judgements
            if each.gate in gates and each.colour is not Colour.GREEN and each.gate not in self.overrides
        )

    def document(self) -> dict[str, Any]:
        return {
            "run": self.run,
            "plan": self.plan,
            "at": instant_text(self.at),
            "colour": self.colour.value,
            "open": not self.closed,
            "counts": self.counts,
            "stakes": self.stakes.document(),
            "gates": [
                {
                    **each.document(),
                    "override": self.overrides[each.gate].document() if each.gate in self.overrides else None,
                    "acknowledged": self.acknowledged[each.gate].document() if each.gate in self.acknowledged else None,
                }
                for each in self.judgements
            ],
        }


def score(
    facts: GateFacts,
    overrides: Mapping[str, GateOverride],
    stakes: Stakes,
    acknowledgements: Mapping[str, Acknowledgement],
) -> Scorecard:
    """Judge every gate, so that one scorecard shows every problem."""
    judgements = tuple(gate(facts) for gate in GATES.values())
    return Scorecard(judgements, overrides, facts.plan.hash, facts.run, facts.now, stakes, acknowledgements)


def require_open(card: Scorecard, *, state: str, green: Collection[str] = ()) -> None:
    """Raise GateClosedError if a gate blocks, or one of `green` is not green."""
    against = {each.gate: each for each in (*card.closed, *card.short_of_green(green))}
    if not against:
        return
    first = next(iter(against.values()))
    names = " and ".join(against)
    blocked = f"Gate {names} blocks" if len(against) == 1 else f"Gates {names} block"
    details = "; ".join(f"{each.gate} is {each.colour.value}: {each.words}" for each in against.values())
    unknown = any(each.cause == "unknown" for each in against.values())
    subject = card.run or "-f CONTRACT"
    raise GateClosedError(
        f"{blocked} the run: {details}." + (f" {_capitalised(card.stakes.words)}." if unknown else ""),
        state=state,
        command=_way_through(card, against, subject),
        hint=f"To turn {first.gate} green: {first.to_green}. To proceed without that, on record under your name",
        gates=[each.document() for each in against.values()],
        stakes=card.stakes.document(),
    )


def _way_through(card: Scorecard, against: Mapping[str, Judgement], subject: str) -> str:
    """The command that acknowledges or overrides what blocks."""
    overridden = [each.gate for each in against.values() if not may_be_acknowledged(each, card.stakes)]
    if not overridden:
        return f'anabranch gates acknowledge {subject} --reason "…"'
    return f'anabranch gates override {overridden[0]} {subject} --reason "…"'


def _capitalised(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}"
