"""Every gate's judgement on one card, and whether they let the backfill through."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from anabranch.errors import AnabranchError, ExitCode
from anabranch.gates import (
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
from anabranch.gates.facts import Facts
from anabranch.gates.gate import Gate, Judgement
from anabranch.gates.overrides import Override
from anabranch.runs.canonical import instant_text

GATES: Mapping[str, Gate] = {
    compatibility.NAME: compatibility.judge,
    offset_control.NAME: offset_control.judge,
    storage_path.NAME: storage_path.judge,
    capacity.NAME: capacity.judge,
    cost.NAME: cost.judge,
    governance.NAME: governance.judge,
    schema.NAME: schema.judge,
    rollback.NAME: rollback.judge,
    observability.NAME: observability.judge,
    side_effects.NAME: side_effects.judge,
    closure.NAME: closure.judge,
}


CARD = "gates"
"""The kind of evidence that a whole card is kept as, of `plan/<hash>`."""


class GateClosedError(AnabranchError):
    code = "gates.closed"
    exit_code = ExitCode.REFUSED


@dataclass(frozen=True)
class Scorecard:
    judgements: tuple[Judgement, ...]
    overrides: Mapping[str, Override]
    plan: str
    """The hash of what was judged."""
    run: str | None
    at: datetime

    @property
    def colour(self) -> Colour:
        """The worst of all, overridden or not."""
        return worst(each.colour for each in self.judgements)

    @property
    def counts(self) -> dict[str, int]:
        found = Counter(each.colour for each in self.judgements)
        return {colour.value: found[colour] for colour in Colour}

    @property
    def closed(self) -> tuple[Judgement, ...]:
        """The gates that nobody may pass: red, and nobody has answered for it."""
        return tuple(each for each in self.judgements if each.colour is Colour.RED and each.gate not in self.overrides)

    def short_of_green(self, gates: Collection[str]) -> tuple[Judgement, ...]:
        """Those of these gates that are not green, and that nobody has answered for."""
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
            "gates": [
                {
                    **each.document(),
                    "override": self.overrides[each.gate].document() if each.gate in self.overrides else None,
                }
                for each in self.judgements
            ],
        }


def score(facts: Facts, overrides: Mapping[str, Override]) -> Scorecard:
    """Every gate is judged, so that one look shows all that is wrong."""
    judgements = tuple(gate(facts) for gate in GATES.values())
    return Scorecard(judgements, overrides, facts.plan.hash, facts.run, facts.now)


def require_open(card: Scorecard, *, untouched: str, green: Collection[str] = ()) -> None:
    """Refuse if a gate is red, or one of `green` is anything else than that."""
    against = {each.gate: each for each in (*card.closed, *card.short_of_green(green))}
    if not against:
        return
    first = next(iter(against.values()))
    names = " and ".join(against)
    one = f"gate {names} is" if len(against) == 1 else f"gates {names} are"
    said = "; ".join(f"{each.gate} is {each.colour.value}: {each.words}" for each in against.values())
    subject = card.run or "-f CONTRACT"
    raise GateClosedError(
        f"The {one} not passed: {said}.",
        untouched=untouched,
        next_step=f"{first.to_green}; or, on your name and for ever on record, "
        f'`anabranch gates override {first.gate} {subject} --reason "…"`',
        gates=[each.document() for each in against.values()],
    )
