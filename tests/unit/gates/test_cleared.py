"""A plan that is cleared for replay can't be made of a closed card, nor of the card of another plan."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.gates.facts import good_facts

from anabranch.gates.cleared import ClearedPlan
from anabranch.gates.evidence import Evidence
from anabranch.gates.facts import GateFacts
from anabranch.gates.scorecard import Scorecard, score
from anabranch.gates.stakes import Stakes


def card_of(facts: GateFacts) -> Scorecard:
    return score(facts, {}, Stakes(True, "", (), "little"), {})


def test_an_open_card_clears_its_own_plan(tmp_path: Path) -> None:
    facts = good_facts(tmp_path)
    card = card_of(facts)
    assert ClearedPlan(facts.plan, card).scorecard is card
    with pytest.raises(ValueError, match="not of"):
        ClearedPlan(replace(facts.plan, code="0" * 64), card)


def test_a_closed_card_clears_nothing(tmp_path: Path) -> None:
    facts = good_facts(tmp_path)
    closed = card_of(replace(facts, evidence={**facts.evidence, "storage": unreadable(facts)}))
    with pytest.raises(ValueError, match="storage-path"):
        ClearedPlan(facts.plan, closed)


def unreadable(facts: GateFacts) -> Evidence:
    was = facts.evidence["storage"]
    return replace(was, found={**was.found, "refused": "denied"})
