"""What of the pinned things has changed: each drift is found, told, and stops the run if it must."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.plan.world import AXIS, World, hourly

from anabranch.errors import ExitCode
from anabranch.plan.drift import (
    BaseGone,
    CheckFileChanged,
    CodeChanged,
    Drift,
    LookupGone,
    ObservedInputs,
    PartitionsAdded,
    PipelineChanged,
    RetentionPassed,
    SchemaChanged,
    Stage,
    TopicRecreated,
    check_drift,
    drift_at,
    forbids,
)
from anabranch.plan.drift_errors import (
    CheckFileChangedError,
    LookupGoneError,
    PipelineChangedError,
    describe,
    error_of,
    require_no_drift,
)
from anabranch.plan.lookup_tables import LookupPin
from anabranch.plan.plan import Plan
from anabranch.plan.strategies.strategy import Strategy
from anabranch.plan.target_range import Grain, TimeAxis
from anabranch.runs.heads import Head

PINNED = {"class": '"stateless"', "target.keys": '["order_id"]'}
FILES = {"checks/a.sql": "a1", "checks/b.sql": "b1"}
NOW = ObservedInputs("u1", 2, {0: 0, 1: 0}, "c1", "s1", AXIS, True, declared=PINNED, files=FILES)


@pytest.fixture
def plan(world: World) -> Plan:
    return replace(world.plan([hourly(20), hourly(20)]).plan, declared=PINNED, files=FILES)


def test_nothing_changed_is_no_drift(plan: Plan) -> None:
    assert check_drift(plan, NOW) == []
    assert check_drift(plan, replace(NOW, earliest={0: 119, 1: 100})) == []


def test_a_lookup_that_is_gone_stops_the_run(plan: Plan) -> None:
    pinned = replace(plan, lookups={"rates": LookupPin("shop.rates", Head("7"))})
    assert check_drift(pinned, NOW) == []
    [drift] = check_drift(pinned, replace(NOW, lookups_gone=frozenset({"rates"})))
    assert drift == LookupGone("rates", "shop.rates", Head("7"))
    with pytest.raises(LookupGoneError, match=r"snapshot 7 of lookup rates \(shop\.rates\)"):
        require_no_drift(pinned, [drift])


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        (replace(NOW, uuid="u2"), TopicRecreated("u1", "u2")),
        (replace(NOW, uuid=None, partitions=0, earliest={}), TopicRecreated("u1", None)),
        (replace(NOW, partitions=3), PartitionsAdded(2, 3)),
        (replace(NOW, earliest={0: 0, 1: 130}), RetentionPassed({1: (119, 130)})),
        (replace(NOW, earliest={0: 9999, 1: 0}), RetentionPassed({0: (119, 170)})),
        (replace(NOW, code="c2"), CodeChanged("c1", "c2")),
        (replace(NOW, schema="s2"), SchemaChanged("s1", "s2")),
        (replace(NOW, schema=None, axis=None, base_kept=False), SchemaChanged("s1", None)),
        (replace(NOW, axis=TimeAxis("ordered_at", Grain.HOUR)), SchemaChanged("s1", "s1")),
        (replace(NOW, base_kept=False), BaseGone(Head("7"))),
        (
            replace(NOW, declared={**PINNED, "target.keys": '["customer"]'}),
            PipelineChanged("target.keys", '["order_id"]', '["customer"]'),
        ),
        (replace(NOW, declared={"class": '"stateless"'}), PipelineChanged("target.keys", '["order_id"]', None)),
        (replace(NOW, declared={**PINNED, "source.key": '"x"'}), PipelineChanged("source.key", None, '"x"')),
        (replace(NOW, files={**FILES, "checks/b.sql": "b2"}), CheckFileChanged("checks/b.sql", "b1", "b2")),
        (replace(NOW, files={"checks/a.sql": "a1"}), CheckFileChanged("checks/b.sql", "b1", None)),
    ],
)
def test_each_drift_is_found_alone_and_told(plan: Plan, now: ObservedInputs, expected: Drift) -> None:
    assert check_drift(plan, now) == [expected]
    error = error_of(plan, expected)
    assert describe(expected) in error.what
    assert "Production unchanged." in error.state
    assert error.remedy
    assert error.exit_code is ExitCode.CONFLICT


def test_only_added_partitions_let_the_run_go_on(plan: Plan) -> None:
    require_no_drift(plan, check_drift(plan, replace(NOW, partitions=3)))
    both = check_drift(plan, replace(NOW, partitions=3, code="c2"))
    assert [forbids(each) for each in both] == [False, True]
    with pytest.raises(Exception, match="code has changed"):
        require_no_drift(plan, both)


def test_offsets_that_were_read_may_go(plan: Plan) -> None:
    passed = replace(NOW, earliest={0: 150, 1: 0})
    assert check_drift(plan, passed, needed={0: ((150, 170),)}) == []
    assert check_drift(plan, passed, needed={0: ((149, 170),)}) == [RetentionPassed({0: (149, 150)})]


def test_everything_at_once_is_found_at_once(plan: Plan) -> None:
    now = replace(NOW, uuid="u2", partitions=1, earliest={}, code="c2", schema="s2", base_kept=False)
    assert {type(each) for each in check_drift(plan, now)} == {TopicRecreated, CodeChanged, SchemaChanged}


def test_the_lost_offsets_are_named(plan: Plan) -> None:
    error = error_of(plan, RetentionPassed({1: (119, 130)}))
    assert "partition 1: 119 to 129" in error.what
    assert error.fields["lost"] == {"1": [119, 130]}
    assert "can't be promoted" in error.state


def test_once_all_is_staged_code_offsets_and_lookups_matter_no_more_where_a_range_is_replaced(plan: Plan) -> None:
    """Only a whole table is merged again: to catch up with live, and to take the run out after its promotion."""
    gone = frozenset({"rates"})
    now = replace(NOW, code="c2", earliest={0: 9999, 1: 9999}, lookups_gone=gone, files={}, partitions=3)
    pinned = replace(plan, lookups={"rates": LookupPin("shop.rates", Head("7"))})
    always: set[type] = {PartitionsAdded, CheckFileChanged}
    reading = {type(each) for each in drift_at(pinned, now, Stage.REPLAYING)}
    assert reading == always | {CodeChanged, RetentionPassed, LookupGone}
    for strategy in Strategy:
        staged = {type(each) for each in drift_at(replace(pinned, strategy=strategy), now, Stage.STAGED)}
        assert staged == (always | {LookupGone} if strategy.whole_table else always)


def test_what_a_verdict_rests_on_matters_at_every_stage(plan: Plan) -> None:
    for stage in Stage:
        changed = replace(NOW, declared={**PINNED, "class": '"upsert"'}, files={**FILES, "checks/a.sql": "empty"})
        assert [type(each) for each in drift_at(plan, changed, stage)] == [PipelineChanged, CheckFileChanged]
    with pytest.raises(CheckFileChangedError, match=r"check file checks/a\.sql has changed"):
        require_no_drift(plan, [CheckFileChanged("checks/a.sql", "a1", "a2")])
    with pytest.raises(PipelineChangedError, match="class of the pipeline has changed"):
        require_no_drift(plan, [PipelineChanged("class", '"stateless"', '"upsert"')])
