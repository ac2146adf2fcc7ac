"""The list of steps that `plan` prints and the commands execute."""

from __future__ import annotations

from typing import Any

from tests.unit.plan.world import World, hourly

from anabranch.plan.steps import (
    CatchUp,
    Close,
    LeaseRange,
    MakeStaging,
    PassGates,
    Promote,
    RecordIsolation,
    RehearseRollback,
    ReplaySlice,
    Validate,
    describe,
    document_of,
    steps_of,
)
from anabranch.runs.heads import Head


def test_every_slice_is_a_step_and_the_rest_stands_around_them(world: World) -> None:
    plan = world.plan([hourly(20)]).plan
    lease, gates, isolation, stage, *slices, validate, rehearse, catch_up, promote, close = steps_of(plan)
    assert lease == LeaseRange("shop.orders", plan.target.partitions)
    assert gates == PassGates(), "before anything is made"
    assert isolation == RecordIsolation(plan.source.topic)
    assert stage == MakeStaging("shop.orders", Head("7"), 2, 48)
    assert [step.slice for step in slices if isinstance(step, ReplaySlice)] == list(plan.slices)
    assert len(slices) == len(plan.slices)
    assert validate == Validate(plan.checks)
    assert rehearse == RehearseRollback("shop.orders")
    assert catch_up == CatchUp(Head("7"))
    assert promote == Promote("shop.orders", 2, 48)
    assert close == Close("shop.orders")


def test_every_step_can_be_told_in_one_line(world: World) -> None:
    words = [describe(step) for step in steps_of(world.plan([hourly(20)]).plan)]
    assert words[0] == "lease shop.orders from 2025-06-01T00:00:00Z to 2025-06-03T00:00:00Z"
    assert words[3] == "branch shop.orders from snapshot 7 without the range (2 files with 48 rows)"
    assert words[4] == "replay slice s00000: 51 offsets (0: 119–170)"
    assert not any("\n" in line for line in words)


def test_a_step_as_data_names_its_kind(world: World) -> None:
    documents = [document_of(step) for step in steps_of(world.plan([hourly(20)]).plan)]
    assert [each["step"] for each in documents] == [
        "lease-range",
        "gates",
        "isolation",
        "staging",
        "slice",
        "validate",
        "rollback-rehearsal",
        "catch-up",
        "promote",
        "close",
    ]
    assert documents[4]["slice"] == "s00000"


def test_the_contract_s_checks_are_named(world: World) -> None:
    asked: dict[str, Any] = {
        "expect": {"rows": 100, "tolerance": "1%"},
        "validation": {"notNull": ["order_id"], "queries": {"no-gaps": {"sql": "SELECT 1"}}},
    }
    checks = world.plan([hourly(20)], **asked).plan.checks
    assert "100 rows, within 1%" in checks
    assert {"unique: order_id", "not null: order_id", "query: no-gaps"} <= set(checks)
