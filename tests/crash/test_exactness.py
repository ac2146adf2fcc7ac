"""The driver killed with SIGKILL at every named point and at random: nothing missing, nothing doubled."""

from __future__ import annotations

import json

import pytest
from tests.crash.conftest import EVENTS
from tests.crash.story import PATIENCE, ROUNDS, Story

from anabranch.crashpoints import NAMES

pytestmark = [pytest.mark.long, pytest.mark.kafka, pytest.mark.timeout(PATIENCE)]

WITH_TESTS_OF_THEIR_OWN = ("live.", "quota.", "retention.")
STAGES = ("replayed", "promoted", "rolled back", "promoted again", "closed")


def test_every_point_of_a_run_was_reached_and_killed_at(survived: Story) -> None:
    aimed = {kill.point.split(":")[0] for kill in survived.kills} - {"random"}
    assert aimed == {name for name in NAMES if not name.startswith(WITH_TESTS_OF_THEIR_OWN)}
    assert len(survived.kills) >= 20
    assert {kill.code for kill in survived.kills} == {-9}


def test_after_each_kill_the_run_is_where_its_record_says(survived: Story) -> None:
    assert [kill for kill in survived.kills if kill.expected not in (None, kill.state)] == []


@pytest.mark.parametrize("stage", STAGES)
def test_nothing_is_missing_and_nothing_doubled(survived: Story, stage: str) -> None:
    compared = survived.compared[stage]
    assert (compared.missing, compared.doubled) == (0, 0), compared.examples
    assert compared.rows > EVENTS * 0.99


def test_every_slice_is_in_staging_once(survived: Story) -> None:
    planned = [slice_["id"] for slice_ in survived.shop.plan["slices"]]
    assert len(planned) >= 8
    assert survived.slices == planned


def test_the_closure_accounts_for_every_offset(survived: Story) -> None:
    ledger, fates = survived.shop.closure["ledger"], survived.fates()
    assert {name: ledger.get(name, 0) for name in fates} == fates
    assert ledger["offsets"] == sum(fates.values())
    assert ledger["rows"] == fates["output"] > EVENTS * 0.82
    assert not {"control", "aborted", "compacted", "lost"} & set(ledger)
    assert ledger["slices"] == len(survived.shop.plan["slices"]) + 1, "the plan's, and one to catch up with live"


def test_what_was_begun_is_settled_and_took_effect_once(survived: Story) -> None:
    shop = survived.shop
    assert shop.state == "closed"
    open_steps = shop.ask("SELECT step FROM journal WHERE outcome IS NULL OR outcome = 'unknown'")
    assert open_steps == []
    authors = [said.get("anabranch.author") for said in shop.said("main")]
    assert (authors.count("promotion"), authors.count("rollback")) == (2 + ROUNDS, 1 + ROUNDS)
    done = shop.ask("SELECT step, count(*) FROM journal WHERE outcome = 'succeeded' GROUP BY step")
    assert {step: count for step, count in done if step in ("promote", "rollback", "close")} == {
        "promote": 2 + ROUNDS,
        "rollback": 1 + ROUNDS,
        "close": 1,
    }


def test_closing_leaves_no_ref_and_once_more_is_no_change(survived: Story) -> None:
    assert set(survived.refs) == {"main"}
    assert survived.again == 0
    assert survived.shop.refs == survived.refs
    assert survived.shop.closure["verdict"] == "promoted"


def test_bad_records_are_set_aside_once(survived: Story) -> None:
    rows = survived.shop.catalog.load_table("shop.orders__quarantine").scan().to_arrow().to_pylist()
    places = [(row["partition"], row["offset"]) for row in rows]
    assert len(places) == len(set(places)) == survived.fates()["quarantined"]


def test_the_audit_chain_is_whole(survived: Story) -> None:
    assert json.loads(survived.shop.do("audit", "verify", "-o", "json").out)["intact"] is True
