"""What of the measured world forbids a plan: each refusal with the fields that a script goes by, and what does not."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from tests.unit.plan.world import AXIS, HOUR, JUNE, NO_LIVE, SETTINGS, Log, Record, World, hourly, milliseconds

from anabranch.plan.offsets.ranges import timestamp_bounds
from anabranch.plan.offsets.zones import NO_MAP
from anabranch.plan.ports import LiveHistory, SourceFacts
from anabranch.plan.preconditions import check_partitions, check_retention, check_target
from anabranch.plan.refusals import PlanRefusedError
from anabranch.plan.request import BackfillRequest
from anabranch.plan.target_range import PartitionRange, everything, widen
from anabranch.runs.heads import Head

LOG = hourly(40)


def source(world: World, request: BackfillRequest, *logs: Log) -> SourceFacts:
    return world.source(request, logs or (LOG, LOG, LOG), world.target(request))


def retention(world: World, *logs: Log, live: dict[int, int] | None = None, **spec: Any) -> PlanRefusedError | None:
    request = world.request(**spec)
    part = everything(AXIS)
    if request.start is not None and request.end is not None:
        part = widen(AXIS, request.start, request.end)
    bounds = timestamp_bounds(part, request.slack, everything=request.everything)
    found = SourceFacts("shop.orders", "u1", {n: each.facts(bounds) for n, each in enumerate(logs)}, SETTINGS, None)
    stands = {n: len(each.records) for n, each in enumerate(logs)} if live is None else live
    try:
        check_retention(request, found, part, bounds, stands, NO_MAP, part)
    except PlanRefusedError as refused:
        return refused
    return None


def gone_until(offset: int) -> Log:
    return Log(LOG.records, gone=offset)


# The target.


def test_a_table_that_can_be_backfilled_gives_its_base(world: World) -> None:
    request = world.request()
    assert check_target(request, world.target(request, base=Head("99"))) == "99"


@pytest.mark.parametrize(
    ("changes", "code", "fields"),
    [
        ({"base": None}, "plan.target-empty", {"table": "shop.orders"}),
        (
            {"live": LiveHistory({}, 1, True, frozenset({"refunds", "carts"}), 0)},
            "plan.shared-target",
            {"others": ["carts", "refunds"]},
        ),
        ({"columns": ("ordered_at", "id")}, "plan.column-unknown", {"column": "order_id"}),
    ],
)
def test_a_table_that_can_t_be_is_refused(
    world: World, changes: dict[str, Any], code: str, fields: dict[str, object]
) -> None:
    request = world.request()
    with pytest.raises(PlanRefusedError) as refused:
        check_target(request, world.target(request, **changes))
    assert refused.value.code == code
    assert {name: refused.value.fields[name] for name in fields} == fields


def test_columns_are_named_in_whatever_case(world: World) -> None:
    request = world.request(validation={"notNull": ["Ordered_At"]})
    assert check_target(request, world.target(request, columns=("ORDER_ID", "ordered_at"))) == "7"


def test_a_column_to_be_checked_must_be_there_and_a_near_one_is_offered(world: World) -> None:
    request = world.request(validation={"notNull": ["order_idd"]})
    with pytest.raises(PlanRefusedError) as refused:
        check_target(request, world.target(request))
    assert refused.value.fields["column"] == "order_idd"
    assert "order_id" in refused.value.remedy.split()
    request = world.request(validation={"notNull": ["something"]})
    with pytest.raises(PlanRefusedError) as refused:
        check_target(request, world.target(request))
    assert "ordered_at" in refused.value.remedy, "with none near, all are"


def test_a_pipeline_without_keys_needs_none_in_the_table(world: World) -> None:
    request = world.request(pipe={"target": {"table": "shop.orders"}})
    assert check_target(request, world.target(request, columns=("ordered_at",))) == "7"


def test_commits_of_whom_nobody_knows_forbid_nothing(world: World) -> None:
    request = world.request()
    foreign = LiveHistory(NO_LIVE.ends, 1, True, frozenset(), 5)
    assert check_target(request, world.target(request, live=foreign)) == "7"


# The partitions of the topic.


@pytest.mark.parametrize("wanted", [None, [0, 1, 2], [2, 0, 1]])
def test_all_partitions_or_none_named_is_well(world: World, wanted: list[int] | None) -> None:
    request = world.request(partitions=wanted)
    check_partitions(request, source(world, request))


@pytest.mark.parametrize(
    ("wanted", "code", "fields"),
    [
        ([0, 2], "plan.some-partitions", {"left_out": [1]}),
        ([1], "plan.some-partitions", {"left_out": [0, 2]}),
        ([0, 1, 2, 7, 9], "plan.partition-unknown", {"unknown": [7, 9]}),
        ([9], "plan.partition-unknown", {"unknown": [9]}),
    ],
)
def test_some_partitions_or_others_are_refused(
    world: World, wanted: list[int], code: str, fields: dict[str, object]
) -> None:
    request = world.request(partitions=wanted)
    with pytest.raises(PlanRefusedError) as refused:
        check_partitions(request, source(world, request))
    assert refused.value.code == code
    assert {name: refused.value.fields[name] for name in fields} == fields


# Retention.


FIRST = 5 * 24 - 3
"""The last record of more than two slacks before June. Timestamps may run backwards by one slack, and an event may be
another later than its record: only a log that begins no later than here shows that nothing of the range is gone."""


@pytest.mark.parametrize(("gone", "refused"), [(0, False), (FIRST, False), (FIRST + 1, True), (FIRST + 30, True)])
def test_what_is_gone_before_the_range_is_no_matter(world: World, gone: int, refused: bool) -> None:
    assert (retention(world, gone_until(gone)) is not None) is refused


def test_each_partition_that_has_lost_something_is_named_with_what_and_since_when(world: World) -> None:
    error = retention(world, LOG, gone_until(130), gone_until(140))
    assert error is not None
    assert error.code == "plan.retention-passed"
    assert error.fields["missing"] == {"1": [0, 130], "2": [0, 140]}
    kept = {str(n): LOG.records[gone].timestamp for n, gone in ((1, 130), (2, 140))}
    assert error.fields["kept_from"] == kept


def test_what_is_offered_instead_can_be_planned(world: World) -> None:
    """From the first whole partition after what is gone in every partition, which then is refused no more."""
    error = retention(world, gone_until(125), gone_until(130))
    assert error is not None
    later = "2025-06-02T00:00:00Z"
    assert later in error.remedy
    span: dict[str, Any] = {"range": {"eventTime": {"from": later, "to": "2025-06-03T00:00:00Z"}}}
    assert retention(world, gone_until(125), gone_until(130), **span) is None


def test_where_nothing_of_the_range_is_left_no_range_is_offered(world: World) -> None:
    for logs in ((gone_until(400),), (LOG, gone_until(len(LOG.records)))):
        error = retention(world, *logs)
        assert error is not None
        assert "eventTime" not in error.remedy


def test_everything_needs_everything(world: World) -> None:
    assert retention(world, LOG, range={"everything": True}) is None
    error = retention(world, gone_until(1), range={"everything": True})
    assert error is not None
    assert error.fields["missing"] == {"0": [0, 1]}


def test_a_partition_that_holds_late_records_only_is_judged_by_its_slack(world: World) -> None:
    """Timestamps begin at the range's end: with its slack nothing of the range can be before that."""
    start = JUNE + timedelta(days=2)
    late = Log([Record(milliseconds(start + n * HOUR), start + n * HOUR) for n in range(50)], gone=10)
    assert retention(world, late) is not None, "what is gone may have been of the range"


def test_the_range_is_that_of_whole_partitions(world: World) -> None:
    """Asked for from noon, the target's partition begins at midnight."""
    span: dict[str, Any] = {"range": {"eventTime": {"from": "2025-06-01T12:00:00Z", "to": "2025-06-02T00:00:00Z"}}}
    part = widen(AXIS, JUNE + 12 * HOUR, JUNE + 24 * HOUR)
    assert isinstance(part, PartitionRange)
    assert part.start == JUNE
    assert retention(world, gone_until(FIRST), **span) is None
    assert retention(world, gone_until(FIRST + 1), **span) is not None
