"""What was measured for a run, section by section; and where nothing was, the command that does."""

from __future__ import annotations

import json
from collections.abc import Iterable

from anabranch.gates.acknowledgements import ACTION as ACKNOWLEDGED
from anabranch.gates.acknowledgements import fold_acknowledgements
from anabranch.gates.evidence import Evidence
from anabranch.gates.scorecard import CARD
from anabranch.pages.runbook.document import Block, Code, MissingPart, Text, facts, grid
from anabranch.pages.runbook.situation import Situation
from anabranch.runs.audit import AuditRecord

GATES = ("compatibility", "storage", "schema", "rollback", "drill")
KINDS = ("rehearsal", "cost", CARD, *GATES)
"""Of evidence, that a runbook shows."""


def window(now: Situation) -> tuple[Block, ...]:
    asked = now.spec.get("schedule") or {}
    said = facts(
        [
            ("Not before", asked.get("startAfter")),
            ("Promoted by", asked.get("deadline", "no deadline in the contract")),
            ("If it can't be kept", asked.get("onMiss") if "deadline" in asked else None),
        ]
    )
    return said, *_or_missing(now, ("rehearsal",), f"rehearse -f {now.contract_file}")


def cost(now: Situation) -> tuple[Block, ...]:
    budget = now.spec.get("budget") or {}
    rate = budget.get("bytesPerSecond")
    said = facts(
        [
            ("Budget", "none in the contract" if budget.get("cost") is None else str(budget["cost"])),
            ("Reads at most", "as fast as it can" if rate is None else f"{rate:,} bytes per second"),
        ]
    )
    return said, *_or_missing(now, ("cost",), f"cost -f {now.contract_file}")


def gates(now: Situation) -> tuple[Block, ...]:
    found = _or_missing(now, GATES, f"gates {now.run.id}")
    card = now.measured(CARD)
    if card:
        found = _card(card[0]), *found
    overrides = [each for each in now.records if each.action.endswith(".override")]
    if overrides:
        found = *found, grid(("Overridden", "By", "When", "Reason"), (_override(each) for each in overrides))
    red = fold_acknowledgements(
        (each for each in now.records if each.action == ACKNOWLEDGED),
        run_id=now.run.id,
        contract=now.run.contract_hash,
    )
    if not red:
        return found
    rows = ((each.gate, each.words, each.by, f"{each.at:%Y-%m-%d %H:%M}", each.reason) for each in red.values())
    return *found, grid(("Red, acknowledged", "Says", "By", "When", "Reason"), rows)


def _card(kept: Evidence) -> Block:
    """As it was judged then; `anabranch gates` judges anew."""
    gates: list[dict[str, str | None]] = kept.found["gates"]  # type: ignore[assignment]
    rows = (
        (each["gate"] or "", each["colour"] or "", each["words"] or "", each["owner"] or "", each["to_green"] or "")
        for each in gates
    )
    return grid((f"Gate, {kept.at:%Y-%m-%d %H:%M}", "Colour", "Says", "Answers for it", "Turns green by"), rows)


def _or_missing(now: Situation, kinds: Iterable[str], command: str) -> tuple[Block, ...]:
    found = now.measured(*kinds)
    if not found:
        return (MissingPart(Code(now.command(command))),)
    return (grid(("Measured", "Of", "When", "By", "Counts until", "Found"), (_row(each, now) for each in found)),)


def _override(record: AuditRecord) -> tuple[Text, ...]:
    details = json.loads(record.details)
    what = details.get("gate", record.action.removesuffix(".override"))
    return what, record.actor, record.at[:16].replace("T", " "), str(details.get("reason", ""))


def _row(each: Evidence, now: Situation) -> tuple[Text, ...]:
    until = "as long as it is there" if each.good_until is None else f"{each.good_until:%Y-%m-%d %H:%M}"
    found = "; ".join(
        f"{name.replace('_', ' ')} {_value(value)}" for name, value in each.found.items() if value is not None
    )
    return (
        each.kind,
        Code(each.subject),
        f"{each.at:%Y-%m-%d %H:%M}",
        each.by,
        until if each.counts(now.at) else f"{until}: too old",
        found,
    )


def _value(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.2f}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
