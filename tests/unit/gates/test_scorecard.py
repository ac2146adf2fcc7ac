"""The card lets through what is not red, or red and answered for by name; and its page can't be made to do anything."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from tests.unit.gates.facts import NOW

from anabranch.cli.gates_page import render_scorecard
from anabranch.gates.colour import Colour
from anabranch.gates.gate import Judgement
from anabranch.gates.overrides import Override
from anabranch.gates.scorecard import GateClosedError, Scorecard, require_open

GREEN = Judgement("schema", Colour.GREEN, "fine", "shop", NOW)
YELLOW = Judgement("rollback", Colour.YELLOW, "never", "oncall", NOW, to_green="rehearse it")
RED = Judgement("cost", Colour.RED, "too much", "shop", NOW, {"a": 1}, "spend less", NOW + timedelta(days=1))
OVERRIDE = Override("cost", "ada", "worth it", NOW, "red", "too much")


def card(*judgements: Judgement, overrides: dict[str, Override] | None = None) -> Scorecard:
    return Scorecard(judgements, overrides or {}, "p" * 64, "run1", NOW)


def test_yellow_passes_and_red_does_not() -> None:
    require_open(card(GREEN, YELLOW), untouched="all")
    with pytest.raises(GateClosedError, match="cost is red: too much") as refused:
        require_open(card(GREEN, RED), untouched="all")
    assert "spend less" in refused.value.next_step
    assert "anabranch gates override cost run1" in refused.value.next_step


def test_red_that_is_answered_for_passes_and_stays_red() -> None:
    answered = card(GREEN, RED, overrides={"cost": OVERRIDE})
    require_open(answered, untouched="all")
    assert answered.colour is Colour.RED
    assert answered.document()["gates"][1]["override"]["by"] == "ada"
    assert answered.document()["open"] is True


def test_what_must_be_green_may_not_be_yellow() -> None:
    with pytest.raises(GateClosedError, match="rollback is yellow"):
        require_open(card(YELLOW), untouched="all", green=("rollback",))
    require_open(card(replace(YELLOW, colour=Colour.GREEN)), untouched="all", green=("rollback",))
    answered = {"rollback": replace(OVERRIDE, gate="rollback")}
    require_open(card(YELLOW, overrides=answered), untouched="all", green=("rollback",))


def test_the_page_tells_all_and_loads_nothing() -> None:
    evil = replace(RED, words="<script>alert(1)</script>")
    page = render_scorecard(card(GREEN, evil, overrides={"cost": OVERRIDE}), "fix")
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert "Overridden by ada on 2025-07-01 12:00: worth it" in page
    assert "http" not in page.replace('http-equiv="Content-Security-Policy"', "")
    assert "Closed by cost" in render_scorecard(card(RED), "fix")
    assert "Every gate was tested" in render_scorecard(card(GREEN), "fix")
