"""Each section of a runbook, with the facts it is written from and without them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from anabranch.gates.acknowledgements import ACTION as ACKNOWLEDGED
from anabranch.gates.approval.approval import (
    AcceptedStaging,
    Approval,
    ApprovalEnd,
    ApprovalFlaw,
    ApprovalStatus,
)
from anabranch.gates.evidence import Evidence
from anabranch.pages.runbook.document import Block, Code, FactList, Grid, MissingPart, Paragraph, Runbook
from anabranch.pages.runbook.markdown import render_markdown
from anabranch.pages.runbook.page import render_page
from anabranch.pages.runbook.sections import RANGES_SHOWN, RECORDS_SHOWN, write_book
from anabranch.pages.runbook.situation import Situation
from anabranch.plan.offsets.completeness import Proof
from anabranch.plan.plan import Plan, PlannedSource, PlannedTarget
from anabranch.plan.slices import Slice
from anabranch.plan.target_range import Grain, PartitionRange, TimeAxis, WholeTable
from anabranch.project.quantities import format_duration
from anabranch.project.sections.approval import RoleSettings
from anabranch.runs.audit import GENESIS, AuditRecord
from anabranch.runs.heads import Head
from anabranch.runs.journal import JournalEntry, Outcome
from anabranch.runs.ranges import TargetRange
from anabranch.runs.run import Run, RunFault
from anabranch.runs.states import State

NOW = datetime(2025, 7, 1, 12, tzinfo=timezone.utc)
HOUR = timedelta(hours=1)
PART = PartitionRange(TimeAxis("ordered_at", Grain.DAY), 20_240, 20_242)
SLICES = (Slice("s00000", {0: (0, 1000)}), Slice("s00001", {0: (1000, 2000)}))
PLAN = Plan(
    pipeline="orders",
    contract="c" * 64,
    code="f" * 64,
    source=PlannedSource("shop.orders", "u1", 1, {0: ((0, 2000),)}, {0: 2500}, {0: Proof.WHOLE}),
    target=PlannedTarget("shop.orders", Head("7"), "schema", PART, None, None),
    slices=SLICES,
)
RUN = Run(
    id="r1",
    pipeline="orders",
    target=TargetRange("shop.orders"),
    contract_hash="c" * 64,
    plan_hash=PLAN.hash,
    author="ada",
    state=State.PLANNED,
    epoch=0,
    created_at=NOW,
    updated_at=NOW,
)
CONTRACT: dict[str, Any] = {
    "metadata": {"name": "june-rates"},
    "spec": {
        "owner": "shop",
        "reason": "a wrong rate",
        "range": {"eventTime": {"from": "2025-06-01T00:00:00Z"}},
        "rollback": {"authority": "oncall", "horizon": "36h"},
    },
}
APPROVAL = Approval(5, "bob", NOW, NOW + HOUR, "p" * 64, "c" * 64, AcceptedStaging(Head("41"), "d"), "looks right")


def entry(step: str, details: Mapping[str, object] | None = None, *, hours: int = 0, good: bool = True) -> JournalEntry:
    at = NOW + hours * HOUR
    outcome = Outcome.SUCCEEDED if good else Outcome.FAILED
    return JournalEntry(f"r1-{step}-{hours}", "r1", 1, step, {}, at, outcome, details or {}, at)


def record(action: str, details: object = None, seq: int = 1, **changes: Any) -> AuditRecord:
    made = AuditRecord(
        seq,
        "2025-07-01T10:00:00.000000Z",
        "bob",
        "r1",
        action,
        None,
        None,
        1,
        json.dumps(details or {}),
        GENESIS,
        GENESIS,
    )
    return replace(made, **changes)


def situation(state: State = State.PLANNED, *, spec: Mapping[str, Any] | None = None, **changes: Any) -> Situation:
    run = replace(changes.pop("run", RUN), state=state)
    contract = {**CONTRACT, "spec": {**CONTRACT["spec"], **(spec or {})}}
    made = Situation(
        run=run,
        context="prod",
        contract_file="backfills/june.yaml",
        contract=contract,
        plan=PLAN,
        journal=(),
        records=(),
        roles=RoleSettings(),
        needs_approval=True,
        author_may_promote=False,
        approvals=(),
        standing=ApprovalStatus(),
        at=NOW,
    )
    return replace(made, **changes)


def blocks(now: Situation, title: str) -> tuple[Block, ...]:
    [section] = [each for each in write_book(now).sections if each.title == title]
    return section.blocks


def facts_in(now: Situation, title: str) -> dict[str, str]:
    return {
        name: str(value) for block in blocks(now, title) if isinstance(block, FactList) for name, value in block.pairs
    }


def grids(now: Situation, title: str) -> list[Grid]:
    return [each for each in blocks(now, title) if isinstance(each, Grid)]


def paragraphs(now: Situation, title: str) -> list[str]:
    return [each.text for each in blocks(now, title) if isinstance(each, Paragraph)]


def missing(now: Situation, title: str) -> list[str]:
    return [str(each.command) for each in blocks(now, title) if isinstance(each, MissingPart)]


PROMOTED = (entry("promote", {"snapshot": "77"}),)
STAGING = {"Branch": "ab_r1_e3"}
KEPT = {"Tag of the former state": "ab_r1_before", "Tag of the promotion": "ab_r1_promoted"}


# The book.


@pytest.mark.parametrize("state", list(State))
def test_in_every_state_the_book_can_be_written_and_says_what_production_has(state: State) -> None:
    book = write_book(situation(state, journal=PROMOTED))
    assert book.settled is (state not in (State.PROMOTING, State.ROLLING_BACK))
    assert book.production
    assert len({each.title for each in book.sections}) == len(book.sections)
    assert all(each.blocks for each in book.sections)
    assert book.title in render_markdown(book)
    assert render_page(book).startswith("<!doctype html>")


def test_states_in_which_production_differs_are_told_apart() -> None:
    def words(state: State) -> str:
        return write_book(situation(state, journal=PROMOTED)).production

    untouched = {words(state) for state in (State.PLANNED, State.REPLAYING, State.STAGED, State.CANCELLED)}
    assert len(untouched) == 1
    touched = [State.PROMOTING, State.PROMOTED, State.ROLLING_BACK, State.ROLLED_BACK, State.CLOSED]
    assert len({words(state) for state in touched} | untouched) == len(touched) + 1


# Who and what.


def test_who_answers_for_it() -> None:
    found = facts_in(situation(), "Overview")
    assert (found["Pipeline"], found["Table"], found["Author"], found["Context"]) == (
        "orders",
        "shop.orders",
        "ada",
        "prod",
    )
    assert {"shop", "oncall", "a wrong rate"} <= set(found.values())
    assert "Fault" not in found


def test_a_failed_run_says_why_with_its_code() -> None:
    failed = situation(State.FAILED, run=replace(RUN, fault=RunFault("replay.lost", "offsets are gone")))
    assert facts_in(failed, "Overview")["Fault"] == "offsets are gone [replay.lost]"


# Contract.


def test_the_contract_in_lines_that_it_has() -> None:
    plain, more = (
        facts_in(situation(spec=spec), "Contract")
        for spec in (
            {},
            {"partitions": [0, 2], "expect": {"rows": 5}, "validation": {"notNull": ["id"], "queries": {}}},
        )
    )
    assert plain["Name"] == "june-rates"
    assert "2025-06-01T00:00:00Z" in plain["Range"]
    assert format_duration(36 * HOUR) in plain["Rollback guaranteed for"]
    assert (plain["Contract"], plain["Plan"], plain["Code"]) == (RUN.contract_hash, PLAN.hash, PLAN.code)
    assert {"Partitions", "Expected", "Validation"}.isdisjoint(plain)
    assert (more["Partitions"], more["Expected"]) == ("0, 2", "rows: 5")
    assert "notNull" in more["Validation"]
    assert "queries" not in more["Validation"], "what was left empty is not asked for"


# Offsets.


def test_offsets_with_where_live_stood_and_what_proves_them() -> None:
    [grid] = grids(situation(), "Offsets")
    assert grid.rows == (("0", "0", "2,000", "2,000", "2,500", Proof.WHOLE.value),)
    source = replace(PLAN.source, live={}, proof={})
    [unknown] = grids(situation(plan=replace(PLAN, source=source)), "Offsets")
    assert unknown.rows[0][4:] == ("unknown", "")
    found = facts_in(situation(), "Offsets")
    assert set(found.values()) == {"shop.orders", "u1", "read_committed"}


@pytest.mark.parametrize(("count", "left"), [(RANGES_SHOWN, 0), (RANGES_SHOWN + 3, 3)])
def test_of_many_ranges_the_first_are_shown_and_a_command_has_the_others(count: int, left: int) -> None:
    ranges = {0: tuple((10 * n, 10 * n + 5) for n in range(count))}
    now = situation(plan=replace(PLAN, source=replace(PLAN.source, ranges=ranges)))
    [grid] = grids(now, "Offsets")
    assert len(grid.rows) == RANGES_SHOWN
    more = paragraphs(now, "Offsets")
    assert len(more) == bool(left)
    assert all(f"{left} more" in each and "anabranch describe r1" in each for each in more)


# Staging and snapshots.


def test_before_anything_is_staged() -> None:
    found = facts_in(situation(staging=STAGING), "Staging and snapshots")
    assert found["Branch"] == "not created yet"
    validated = situation(State.VALIDATED, run=replace(RUN, epoch=3), staging=STAGING, kept=KEPT)
    found = facts_in(validated, "Staging and snapshots")
    assert {found[label] for label in KEPT} == {"not created yet"}, "a promotion creates the tags"
    assert found["Slices staged"].startswith("0 of 2")
    assert found["Base snapshot"] == "7"
    assert "Validated snapshot" not in found
    assert found["Replaced in production"].startswith("2025-06-01 00:00 to 2025-06-03 00:00")
    assert grids(situation(), "Staging and snapshots") == []


def test_once_slices_are_staged_and_validated_and_promoted() -> None:
    journal = (
        entry("slice"),
        entry("slice", hours=1),
        entry("slice", good=False, hours=2),
        entry("validate", {"verdict": "rejected", "staging": "40", "digest": "d"}, hours=3),
        entry("validate", {"verdict": "accepted", "staging": "41", "digest": "d"}, hours=4),
        entry("promote", {"snapshot": "77"}, hours=5),
        entry("rollback", {"what": "moved"}, hours=6, good=False),
    )
    now = situation(State.PROMOTED, journal=journal, run=replace(RUN, epoch=3), staging=STAGING, kept=KEPT)
    found = facts_in(now, "Staging and snapshots")
    assert found["Slices staged"].startswith("2 of 2")
    assert found["Branch"] == STAGING["Branch"]
    assert KEPT.items() <= found.items()
    assert found["Validated snapshot"] == "41", "that of the last one"
    [grid] = grids(now, "Staging and snapshots")
    assert [row[:3] for row in grid.rows] == [("promote", "succeeded", "77"), ("rollback", "failed", "")]


def test_a_closed_run_has_no_branch_and_a_whole_table_no_range() -> None:
    promoted = (entry("promote", {"snapshot": "77"}, hours=5),)
    closed = situation(State.CLOSED, journal=promoted, run=replace(RUN, epoch=3), staging=STAGING, kept=KEPT)
    found = facts_in(closed, "Staging and snapshots")
    assert {found[label] for label in (*STAGING, *KEPT)} == {"removed when the run was closed"}
    whole = replace(PLAN, target=replace(PLAN.target, partitions=WholeTable(None)))
    assert facts_in(situation(plan=whole), "Staging and snapshots")["Replaced in production"] == "the whole table"


# Checks.


def test_before_a_validation_the_planned_checks_are_named() -> None:
    [words] = paragraphs(situation(plan=replace(PLAN, checks=("keys", "nulls"))), "Checks")
    assert "keys; nulls" in words
    assert len(paragraphs(situation(), "Checks")) == 1


VALIDATED = (entry("validate", {"verdict": "accepted", "staging": "41", "digest": "dd"}),)
REPORT = {
    "staging": "41",
    "results": [{"outcome": "passed", "check": "keys", "expected": "none twice", "found": 0}],
}


def test_the_results_of_the_last_validation() -> None:
    now = situation(State.VALIDATED, journal=VALIDATED, validation=REPORT)
    assert set(facts_in(now, "Checks").values()) == {"accepted", "41", "dd"}
    [grid] = grids(now, "Checks")
    assert grid.rows == (("passed", "keys", "none twice", "0"),)
    assert paragraphs(now, "Checks") == []


@pytest.mark.parametrize("report", [None, {**REPORT, "staging": "40"}])
def test_a_report_that_is_elsewhere_or_of_other_staging_is_not_shown(report: dict[str, Any] | None) -> None:
    now = situation(State.VALIDATED, journal=VALIDATED, validation=report)
    assert grids(now, "Checks") == []
    assert len(paragraphs(now, "Checks")) == 1


# Schedule, cost and gates: measured, or the command that measures.


def measured(kind: str, until: datetime | None = NOW + HOUR, **found: object) -> Evidence:
    return Evidence(kind, f"plan/{PLAN.hash}", NOW - HOUR, until, "bob", found)


@pytest.mark.parametrize(
    ("title", "kind", "command"),
    [
        ("Schedule", "rehearsal", "anabranch rehearse -f backfills/june.yaml --context prod"),
        ("Cost", "cost", "anabranch cost -f backfills/june.yaml --context prod"),
        ("Gates", "schema", "anabranch gates r1 --context prod"),
    ],
)
def test_what_nobody_measured_is_told_with_the_command_that_does(title: str, kind: str, command: str) -> None:
    assert missing(situation(), title) == [command]
    now = situation(evidence=[measured(kind, seconds=1.25, records=1_000_000, nothing=None)])
    assert missing(now, title) == []
    [grid] = grids(now, title)
    [row] = grid.rows
    assert (row[0], row[3], row[4]) == (kind, "bob", "2025-07-01 13:00")
    assert row[5] == "seconds 1.25; records 1,000,000"


@pytest.mark.parametrize(("until", "old"), [(NOW + HOUR, False), (NOW, True), (NOW - HOUR, True), (None, False)])
def test_what_was_measured_too_long_ago_is_shown_as_expired(until: datetime | None, old: bool) -> None:
    [grid] = grids(situation(evidence=[measured("rehearsal", until)]), "Schedule")
    assert str(grid.rows[0][4]).endswith("expired") is old


def test_what_the_contract_says_of_its_schedule_and_its_budget() -> None:
    plain = facts_in(situation(), "Schedule")
    assert {"Not before", "When missed"}.isdisjoint(plain)
    spec = {
        "schedule": {"startAfter": "2025-07-01T20:00:00Z", "deadline": "2025-07-02T04:00:00Z", "onMiss": "retry"},
        "budget": {"cost": 12, "bytesPerSecond": 1048576},
    }
    full = situation(spec=spec)
    assert list(facts_in(full, "Schedule").values()) == ["2025-07-01T20:00:00Z", "2025-07-02T04:00:00Z", "retry"]
    assert facts_in(full, "Cost")["Budget"] == "12"
    assert "1,048,576" in facts_in(full, "Cost")["Rate limit"]
    assert "1,048,576" not in facts_in(situation(), "Cost")["Rate limit"]


def test_the_scorecard_the_overrides_and_the_red_that_was_acknowledged() -> None:
    gate = {"gate": "schema", "colour": "red", "words": "a column is gone", "owner": None, "to_green": "add it"}
    records = (
        record("gate.override", {"gate": "cost", "reason": "agreed"}),
        record("rollback.override", {"reason": "at night"}),
        record(
            ACKNOWLEDGED,
            {"red": {"schema": "a column is gone"}, "reason": "known", "contract": "c" * 64, "automatic": False},
        ),
        record(ACKNOWLEDGED, {"red": {"drill": "none"}, "reason": "x", "contract": "other", "automatic": False}),
    )
    now = situation(records=records, evidence=[measured("gates", gates=[gate]), measured("schema")])
    card, found, overridden, red = grids(now, "Gates")
    assert card.rows == (("schema", "red", "a column is gone", "", "add it"),)
    assert [row[0] for row in found.rows] == ["schema"]
    assert [(row[0], row[1], row[3]) for row in overridden.rows] == [
        ("cost", "bob", "agreed"),
        ("rollback", "bob", "at night"),
    ]
    assert [row[0] for row in red.rows] == ["schema"], "that of another contract is not of this run"


# Approvals.


def test_the_approval_that_counts_and_all_that_were_given() -> None:
    ended = replace(APPROVAL, by="eve", end=ApprovalEnd(ApprovalFlaw.REVOKED, "dan", NOW, "wrong month"), judged=None)
    now = situation(approvals=(ended, APPROVAL), standing=ApprovalStatus(APPROVAL))
    [words] = paragraphs(now, "Approvals")
    assert "bob" in words
    [grid] = grids(now, "Approvals")
    assert [(row[0], row[4], row[5]) for row in grid.rows] == [
        ("eve", "before anything was staged", "looks right"),
        ("bob", "41", "looks right"),
    ]
    assert str(grid.rows[0][6]).endswith("wrong month")
    assert grid.rows[1][6] == ""


def test_without_an_approval_that_counts_the_four_cases_differ() -> None:
    cases = [
        situation(standing=ApprovalStatus(APPROVAL)),
        situation(needs_approval=False),
        situation(standing=ApprovalStatus(APPROVAL, ApprovalFlaw.EXPIRED)),
        situation(),
    ]
    words = [paragraphs(each, "Approvals")[0] for each in cases]
    assert len(set(words)) == 4
    assert "anabranch approve r1" in words[3]
    assert all(grids(each, "Approvals") == [] for each in cases)


# What happened.


def test_what_happened_leaves_out_what_tells_nothing_and_shortens_hashes() -> None:
    records = (
        record("lease.acquire"),
        record("run.start", from_state="planned", to_state="replaying"),
        record("run.submit", {"plan": "a" * 64}, to_state="planned"),
        record("lease.release"),
    )
    [grid] = grids(situation(records=records), "History")
    assert [row[2:] for row in grid.rows] == [
        ("run.start", "planned → replaying", ""),
        ("run.submit", "planned", f"plan: {'a' * 12}"),
    ]
    assert grids(situation(), "History")[0].rows == ()


def test_of_a_long_history_the_last_records_are_shown_and_a_command_has_all() -> None:
    records = tuple(record("control.pause", seq=n, actor=f"a{n}") for n in range(RECORDS_SHOWN + 5))
    now = situation(records=records)
    [grid] = grids(now, "History")
    assert [row[1] for row in grid.rows] == [f"a{n}" for n in range(5, RECORDS_SHOWN + 5)]
    [words] = paragraphs(now, "History")
    assert "anabranch log r1 --context prod" in words
    assert paragraphs(situation(records=records[:RECORDS_SHOWN]), "History") == []


# Commands, and who may.


def who_may(now: Situation) -> dict[str, str]:
    [grid] = grids(now, "Commands")
    return {str(row[1]).split()[1]: str(row[3]) for row in reversed(grid.rows)}


def test_every_command_can_be_typed_as_it_stands() -> None:
    [grid] = grids(situation(), "Commands")
    assert all(isinstance(row[1], Code) for row in grid.rows)
    assert all(row[1].startswith("anabranch ") and row[1].endswith("--context prod") for row in grid.rows)
    assert all("r1" in row[1] for row in grid.rows)


def test_with_nobody_named_everybody_may_but_the_author_of_what_is_to_be_approved() -> None:
    found = who_may(situation())
    assert found["pause"] == found["cancel"] == "everyone"
    assert found["approve"] == found["promote"] == "everyone but the author, ada"
    assert found["rollback"] == "oncall", "whom the contract names"
    free = who_may(situation(needs_approval=False))
    assert free["approve"] == free["promote"] == "everyone"
    assert who_may(situation(author_may_promote=True))["promote"] == "everyone"


def test_with_roles_they_may_and_nobody_twice() -> None:
    roles = RoleSettings.model_validate(
        {"approvers": ["ada", "bob"], "operators": ["ada", "dan"], "rollback": ["oncall", "dan"]}
    )
    found = who_may(situation(roles=roles))
    assert (found["approve"], found["promote"]) == ("bob", "dan")
    assert (found["cancel"], found["rollback"]) == ("ada, dan", "oncall, dan")


def test_an_author_who_is_the_only_one_named_leaves_nobody() -> None:
    roles = RoleSettings.model_validate({"approvers": ["ada"], "operators": ["ada"]})
    found = who_may(situation(roles=roles))
    assert found["approve"].startswith("no one")
    assert found["promote"].startswith("no one")
    free = who_may(situation(roles=roles, needs_approval=False))
    assert (free["approve"], free["promote"]) == ("ada", "ada")


def test_closing_works_when_the_horizon_of_the_promotion_is_over() -> None:
    now = situation(State.PROMOTED, journal=PROMOTED)
    [grid] = grids(now, "Commands")
    [when] = [row[2] for row in grid.rows if row[1].startswith("anabranch close") and "forfeit" not in row[1]]
    assert f"{NOW + 36 * HOUR:%Y-%m-%d %H:%M}" in when
    assert isinstance(write_book(now), Runbook)
