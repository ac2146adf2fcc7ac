"""Which code a control replays by what live's commits say, and when nobody can say; what can't be compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.unit.plan.world import World, hourly, pipeline

from anabranch.contract.late_imports import find_late_imports
from anabranch.plan.control import (
    CodeVersions,
    ControlIncomparableError,
    ControlUnknownError,
    LiveCodeUse,
    control_code,
    require_comparable,
)
from anabranch.plan.lookup_tables import LookupPin
from anabranch.plan.plan import Plan, read_plan
from anabranch.plan.request import contract_hash, with_control
from anabranch.plan.steps import ControlSlice, MakeControlStaging, ReplaySlice, describe, steps_of
from anabranch.project.model import as_plain
from anabranch.runs.heads import Head

OLD, NEW = "a" * 64, "b" * 64
ALL = {0: (0, 10**6)}


@pytest.fixture
def plan(world: World) -> Plan:
    return world.plan([hourly(12)]).plan


def code_by(plan: Plan, *live: LiveCodeUse, promoted: tuple[str, ...] = ()) -> str:
    return control_code("live", plan, lambda: CodeVersions(live, promoted))


def test_the_one_code_that_wrote_the_range_is_taken(plan: Plan) -> None:
    before, after = {0: (0, 150)}, {0: (150, 10**6)}
    assert code_by(plan, LiveCodeUse(ALL, OLD, True)) == OLD
    assert code_by(plan, LiveCodeUse(after, NEW, False), LiveCodeUse(before, OLD, True)) == OLD, (
        "only what is in the range counts"
    )


def test_what_the_contract_names_is_taken_without_a_look(plan: Plan) -> None:
    def look() -> CodeVersions:
        raise AssertionError("nobody needs to look")

    assert control_code("abcdef01", plan, look) == "abcdef01"


@pytest.mark.parametrize(
    ("live", "promoted", "says"),
    [
        ([LiveCodeUse(ALL, OLD, True), LiveCodeUse(ALL, NEW, True)], (), "2 code versions"),
        ([LiveCodeUse({0: (0, 140)}, OLD, True)], (), "partition 0, offset 140"),
        ([], (), "partition 0"),
        ([LiveCodeUse(ALL, None, True)], (), "do not record"),
        ([LiveCodeUse(ALL, OLD, False)], (), "do not record"),
        ([LiveCodeUse(ALL, OLD, True)], ("run7",), "run7 was promoted"),
    ],
)
def test_a_range_of_no_one_code_is_refused(
    plan: Plan, live: list[LiveCodeUse], promoted: tuple[str, ...], says: str
) -> None:
    with pytest.raises(ControlUnknownError) as refused:
        code_by(plan, *live, promoted=promoted)
    assert says in refused.value.what
    assert "control: {code: DIGEST}" in refused.value.remedy


@pytest.mark.parametrize(
    ("then", "says"),
    [
        (
            {"source": {"topic": "other", "schema": {"order_id": "string", "ordered_at": "timestamp"}}},
            "its pipeline read other",
        ),
        ({"target": {"table": "shop.orders", "keys": ["customer"]}}, "other keys"),
        ({"class": "windowed", "window": {"kind": "tumbling", "size": "1h", "lateness": "1m"}}, "class"),
        ({"eventTime": {"field": "_timestamp"}}, "event time"),
        ({"lookups": {"rates": "shop.rates"}}, "other lookup tables"),
    ],
)
def test_what_differs_for_another_reason_than_the_code_is_refused(
    world: World, then: Mapping[str, Any], says: str
) -> None:
    with pytest.raises(ControlIncomparableError, match=says):
        require_comparable(pipeline(world.folder, **then), pipeline(world.folder), (), everything=False)


def test_of_the_whole_topic_another_event_time_may_be_compared(world: World) -> None:
    then, now = pipeline(world.folder, eventTime={"field": "_timestamp"}), pipeline(world.folder)
    require_comparable(then, now, (), everything=True)
    with pytest.raises(ControlIncomparableError, match=r"rates.py:4"):
        require_comparable(now, now, ("transforms/rates.py:4",), everything=True)


def test_a_replay_as_a_stream_has_no_control(world: World) -> None:
    now = pipeline(world.folder)
    with pytest.raises(ControlIncomparableError, match="batch-exact"):
        require_comparable(now, now, (), everything=True, as_stream=True)


def test_a_control_is_in_the_plan_its_hash_and_its_steps(plan: Plan) -> None:
    with_control = replace(plan, control=OLD)
    assert with_control.hash != plan.hash
    assert plan.document()["control"] is None
    assert read_plan(with_control.document()) == with_control
    steps = steps_of(with_control)
    assert [step for step in steps if not isinstance(step, MakeControlStaging | ControlSlice)] == list(steps_of(plan))
    [made] = [step for step in steps if isinstance(step, MakeControlStaging)]
    assert "never promoted" in describe(made)
    replays = [step.slice.id for step in steps if isinstance(step, ReplaySlice | ControlSlice)]
    assert replays == [slice_.id for slice_ in plan.slices for _ in range(2)]


def test_a_control_reads_everything_once_more(world: World) -> None:
    rate = {"bytesPerSecond": "1KiB"}
    once = world.plan([hourly(12)], budget=rate)
    twice = world.plan([hourly(12)], budget=rate, control={"code": "live"})
    assert once.estimates.duration is not None
    assert twice.estimates.duration is not None
    assert abs(twice.estimates.duration - 2 * once.estimates.duration).total_seconds() <= 0.1


def test_lookups_are_in_the_plan_and_its_hash(plan: Plan) -> None:
    pinned = replace(plan, lookups={"rates": LookupPin("shop.rates", Head("7"))})
    assert len({plan.hash, pinned.hash, replace(plan, lookups={"rates": LookupPin("shop.rates", Head("8"))}).hash}) == 3
    assert plan.document()["lookups"] == {}
    assert read_plan(pinned.document()) == pinned


def test_asking_for_a_control_is_part_of_the_contract(world: World) -> None:
    request = world.request()
    plain, wanted = (with_control(request.backfill, wanted=each) for each in (False, True))
    assert plain == request.backfill
    assert contract_hash(as_plain(wanted)) != contract_hash(as_plain(plain))
    assert contract_hash(as_plain(wanted)) == contract_hash(world.request(control={"code": "live"}).contract)


def test_files_of_the_kept_code_are_looked_through_for_late_imports(tmp_path: Path) -> None:
    world = World.below(tmp_path / "p")
    assert find_late_imports(world.folder, pipeline(world.folder)) == ()
    (world.folder / "transforms" / "rates.py").write_text(
        "import transforms.a\ndef f():\n  import json\n  from . import a\n\n  def g():\n    import transforms.b\n"
    )
    found = find_late_imports(world.folder, pipeline(world.folder))
    assert found == ("transforms/rates.py:4", "transforms/rates.py:7")
