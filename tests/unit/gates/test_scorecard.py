"""The card lets through what is not red, or red and answered for by name; and its page can't be made to do anything."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from tests.unit.gates.facts import NOW

from anabranch.gates.acknowledgements import Acknowledgement
from anabranch.gates.colour import Colour
from anabranch.gates.gate import Judgement
from anabranch.gates.overrides import GateOverride
from anabranch.gates.scorecard import GateClosedError, Scorecard, require_open
from anabranch.gates.stakes import Stakes, drilled, stakes_of
from anabranch.pages.gates import render_scorecard
from anabranch.project.sections.gates import HighVolume

GREEN = Judgement("schema", Colour.GREEN, "fine", "shop", NOW)
YELLOW = Judgement("rollback", Colour.YELLOW, "never", "oncall", NOW, to_green="rehearse it")
RED = Judgement(
    "cost", Colour.RED, "too much", "shop", NOW, {"a": 1}, "spend less", failed=True, good_until=NOW + timedelta(days=1)
)
UNKNOWN = Judgement("capacity", Colour.RED, "not rehearsed", "shop", NOW, to_green="anabranch rehearse -f CONTRACT")
SMALL = Stakes(True, "", (), "1,200 offsets, about 300,000 bytes")
LARGE = replace(SMALL, high=("2,000,000 offsets exceed gates.highVolume.records, 1,000,000",))
DEV = replace(LARGE, enforced=False, basis="context dev does not enforce gates")
ACKNOWLEDGED = Acknowledgement("capacity", "ada", "a few rows", NOW, "not rehearsed", automatic=False)
OVERRIDE = GateOverride("cost", "ada", "worth it", NOW, "red", "too much")


def card(
    *judgements: Judgement,
    overrides: dict[str, GateOverride] | None = None,
    stakes: Stakes = LARGE,
    acknowledged: bool = False,
) -> Scorecard:
    known = {"capacity": ACKNOWLEDGED} if acknowledged else {}
    return Scorecard(judgements, overrides or {}, "p" * 64, "run1", NOW, stakes, known)


def test_yellow_passes_and_red_does_not() -> None:
    require_open(card(GREEN, YELLOW), state="all")
    with pytest.raises(GateClosedError, match="cost is red: too much") as refused:
        require_open(card(GREEN, RED), state="all")
    assert "spend less" in refused.value.remedy
    assert "anabranch gates override cost run1" in refused.value.remedy


@pytest.mark.parametrize("stakes", [SMALL, LARGE, DEV])
@pytest.mark.parametrize("acknowledged", [False, True])
def test_a_failed_check_blocks_whatever_depends_on_it(stakes: Stakes, acknowledged: bool) -> None:
    failed = replace(UNKNOWN, failed=True)
    assert card(failed, stakes=stakes, acknowledged=acknowledged).closed == (failed,)
    assert card(failed, stakes=stakes).to_acknowledge == ()


def test_an_unknown_answer_blocks_what_is_high_volume_or_business_critical() -> None:
    for known in (False, True):
        with pytest.raises(GateClosedError, match="2,000,000 offsets exceed") as refused:
            require_open(card(UNKNOWN, stakes=LARGE, acknowledged=known), state="all")
        assert "anabranch rehearse -f CONTRACT" in refused.value.remedy
        assert "anabranch gates override capacity run1" in refused.value.remedy
    require_open(card(UNKNOWN, overrides={"capacity": OVERRIDE}), state="all")


def test_a_small_replay_passes_an_unknown_answer_once_it_is_acknowledged_by_name() -> None:
    with pytest.raises(GateClosedError) as refused:
        require_open(card(UNKNOWN, stakes=SMALL), state="all")
    assert "anabranch gates acknowledge run1" in refused.value.remedy
    passed = card(UNKNOWN, stakes=SMALL, acknowledged=True)
    require_open(passed, state="all")
    assert passed.colour is Colour.RED, "acknowledged is not green"
    assert passed.document()["gates"][0]["acknowledged"]["reason"] == "a few rows"


def test_a_context_that_does_not_enforce_gates_acknowledges_by_itself() -> None:
    open_ = card(UNKNOWN, stakes=DEV)
    require_open(open_, state="all")
    assert open_.to_acknowledge == (UNKNOWN,), "and puts it on record"
    assert card(UNKNOWN, stakes=DEV, acknowledged=True).to_acknowledge == ()


def test_what_is_high_volume() -> None:
    limit = HighVolume.model_validate({"records": 1000, "bytes": "1MiB"})

    def high(records: int = 10, bytes_: int | None = 10, *, critical: bool = False) -> tuple[str, ...]:
        return stakes_of(
            enforced=True, context="prod", business_critical=critical, records=records, bytes_=bytes_, limit=limit
        ).high

    assert high() == high(1000, 2**20) == ()
    assert high(1001) == ("1,001 offsets exceed gates.highVolume.records, 1,000",)
    assert high(bytes_=2**20 + 1) == ("1,048,577 bytes exceed gates.highVolume.bytes, 1,048,576",)
    assert high(bytes_=None) == ("its size in bytes is unknown, which counts as high-volume",)
    assert high(critical=True) == ("the pipeline is business-critical",)
    assert not drilled(LARGE, 10, limit).enforced
    assert drilled(LARGE, 1001, limit).enforced, "a drill that reads much is held to it like any other"


def test_red_that_is_answered_for_passes_and_stays_red() -> None:
    answered = card(GREEN, RED, overrides={"cost": OVERRIDE})
    require_open(answered, state="all")
    assert answered.colour is Colour.RED
    assert answered.document()["gates"][1]["override"]["by"] == "ada"
    assert answered.document()["open"] is True


def test_what_must_be_green_may_not_be_yellow() -> None:
    with pytest.raises(GateClosedError, match="rollback is yellow"):
        require_open(card(YELLOW), state="all", green=("rollback",))
    require_open(card(replace(YELLOW, colour=Colour.GREEN)), state="all", green=("rollback",))
    answered = {"rollback": replace(OVERRIDE, gate="rollback")}
    require_open(card(YELLOW, overrides=answered), state="all", green=("rollback",))


def test_the_page_tells_all_and_loads_nothing() -> None:
    evil = replace(RED, words="<script>alert(1)</script>")
    page = render_scorecard(card(GREEN, evil, overrides={"cost": OVERRIDE}), "fix")
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert "Overridden by ada on 2025-07-01 12:00: worth it" in page
    assert "http" not in page.replace('http-equiv="Content-Security-Policy"', "")
    assert "Closed by cost" in render_scorecard(card(RED), "fix")
    assert "Every gate was tested" in render_scorecard(card(GREEN), "fix")
    acknowledged = render_scorecard(card(UNKNOWN, stakes=SMALL, acknowledged=True), "fix")
    assert "Red, acknowledged by ada on 2025-07-01 12:00: a few rows" in acknowledged
    assert "Red and not blocking: capacity" in acknowledged
