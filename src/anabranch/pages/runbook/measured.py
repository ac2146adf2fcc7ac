"""Measurements of a run by section; where there is none, the command that measures."""

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
"""The kinds of evidence that a runbook shows."""


def schedule(now: Situation) -> tuple[Block, ...]:
    limits = now.spec.get("schedule") or {}
    shown = facts(
        [
            ("Not before", limits.get("startAfter")),
            ("Deadline of the promotion", limits.get("deadline", "none in the contract")),
            ("When missed", limits.get("onMiss") if "deadline" in limits else None),
        ]
    )
    return shown, *_or_missing(now, ("rehearsal",), f"rehearse -f {now.contract_file}")


def cost(now: Situation) -> tuple[Block, ...]:
    budget = now.spec.get("budget") or {}
    rate = budget.get("bytesPerSecond")
    shown = facts(
        [
            ("Budget", "none in the contract" if budget.get("cost") is None else str(budget["cost"])),
            ("Rate limit", "none" if rate is None else f"{rate:,} bytes per second"),
        ]
    )
    return shown, *_or_missing(now, ("cost",), f"cost -f {now.contract_file}")


def gates(now: Situation) -> tuple[Block, ...]:
    found = _or_missing(now, GATES, f"gates {now.run.id}")
    card = now.measured(CARD)
    if card:
        found = _card(card[0]), *found
    overrides = [each for each in now.records if each.action.endswith(".override")]
    if overrides:
        found = *found, grid(("Overridden", "By", "At", "Reason"), (_override(each) for each in overrides))
    red = fold_acknowledgements(
        (each for each in now.records if each.action == ACKNOWLEDGED),
        run_id=now.run.id,
        contract=now.run.contract_hash,
    )
    if not red:
        return found
    rows = ((each.gate, each.words, each.by, f"{each.at:%Y-%m-%d %H:%M}", each.reason) for each in red.values())
    return *found, grid(("Red, acknowledged", "Finding", "By", "At", "Reason"), rows)


def _card(evidence: Evidence) -> Block:
    """As it was then; `anabranch gates` evaluates the gates again."""
    gates: list[dict[str, str | None]] = evidence.found["gates"]  # type: ignore[assignment]
    rows = (
        (each["gate"] or "", each["colour"] or "", each["words"] or "", each["owner"] or "", each["to_green"] or "")
        for each in gates
    )
    return grid((f"Gate, {evidence.at:%Y-%m-%d %H:%M}", "Colour", "Finding", "Owner", "To fix"), rows)


def _or_missing(now: Situation, kinds: Iterable[str], command: str) -> tuple[Block, ...]:
    found = now.measured(*kinds)
    if not found:
        return (MissingPart(Code(now.command(command))),)
    return (grid(("Measured", "Subject", "At", "By", "Valid until", "Found"), (_row(each, now) for each in found)),)


def _override(record: AuditRecord) -> tuple[Text, ...]:
    details = json.loads(record.details)
    what = details.get("gate", record.action.removesuffix(".override"))
    return what, record.actor, record.at[:16].replace("T", " "), str(details.get("reason", ""))


def _row(each: Evidence, now: Situation) -> tuple[Text, ...]:
    until = "unlimited" if each.good_until is None else f"{each.good_until:%Y-%m-%d %H:%M}"
    found = "; ".join(
        f"{name.replace('_', ' ')} {_value(value)}" for name, value in each.found.items() if value is not None
    )
    return (
        each.kind,
        Code(each.subject),
        f"{each.at:%Y-%m-%d %H:%M}",
        each.by,
        until if each.counts(now.at) else f"{until}: expired",
        found,
    )


def _value(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.2f}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
