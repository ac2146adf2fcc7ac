"""Which code wrote a range, from the commits of a real table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.conformance.target.iceberg_range import IcebergRangeKind

from anabranch.adapters.iceberg import properties as props
from anabranch.adapters.iceberg.code_versions import code_versions, live_code_digests
from anabranch.adapters.iceberg.live import TOPIC
from anabranch.adapters.iceberg.refs import head_of
from anabranch.plan.control import CodeVersions
from anabranch.plan.plan import Plan
from anabranch.plan.strategies.start_snapshots import StartSnapshot
from anabranch.plan.target_range import TargetPart, WholeTable
from anabranch.promote.history import Author


@pytest.fixture
def kind(tmp_path: Path) -> Iterator[IcebergRangeKind]:
    kind = IcebergRangeKind(tmp_path / ".anabranch")
    yield kind
    kind.close()


def commit(kind: IcebergRangeKind, author: Author, properties: dict[str, str], *, inside: bool = True) -> None:
    row = kind.row(next(kind.numbers), inside=inside, by=author.value)
    kind.append([row], **{props.AUTHOR: author.value, **properties})


def promotion(kind: IcebergRangeKind, run: str, *, inside: bool = True) -> None:
    commit(kind, Author.PROMOTION, {props.RUN: run}, inside=inside)


def rollback(kind: IcebergRangeKind, run: str) -> None:
    commit(kind, Author.ROLLBACK, {props.RUN: run})


def live(
    kind: IcebergRangeKind,
    end: int,
    code: str | None,
    *,
    inside: bool = True,
    pipeline: str = "orders",
    topic: str = "",
) -> None:
    said = {props.PIPELINE: pipeline, TOPIC: topic or "uuid", props.OFFSETS: props.write_offsets({0: (end - 10, end)})}
    commit(kind, Author.LIVE, {**said, **({} if code is None else {props.CODE: code})}, inside=inside)


def plan(kind: IcebergRangeKind, part: TargetPart | None = None) -> Plan:
    """The plan with the table's present head as its base."""
    head = head_of(kind.table().metadata.refs["main"].snapshot_id)
    return replace(kind.plan, target=replace(kind.plan.target, base=head, partitions=part or kind.part))


def found(kind: IcebergRangeKind, of: Plan | None = None) -> CodeVersions:
    return code_versions(kind.table(), of or plan(kind))


def test_commits_of_live_are_found_newest_first_with_their_code_and_whether_they_wrote_to_the_range(
    kind: IcebergRangeKind,
) -> None:
    live(kind, 10, "a")
    live(kind, 20, None)
    live(kind, 30, "b", inside=False)
    assert [(dict(each.offsets), each.code, each.in_range) for each in found(kind).live] == [
        ({0: (20, 30)}, "b", False),
        ({0: (10, 20)}, None, True),
        ({0: (0, 10)}, "a", True),
    ]


def test_commits_of_another_pipeline_and_of_a_former_topic_are_no_commits_of_live(kind: IcebergRangeKind) -> None:
    live(kind, 10, "a", pipeline="returns")
    live(kind, 20, "a", topic="former")
    assert found(kind) == CodeVersions((), ())


def test_commits_after_the_base_do_not_count(kind: IcebergRangeKind) -> None:
    live(kind, 10, "a")
    before = plan(kind)
    live(kind, 20, "b")
    assert [each.code for each in found(kind, before).live] == ["a"]


def test_promotions_into_the_range_count_unless_they_were_rolled_back(kind: IcebergRangeKind) -> None:
    promotion(kind, "r1")
    promotion(kind, "r2", inside=False)
    promotion(kind, "r3")
    rollback(kind, "r3")
    assert found(kind).promoted == ("r1",)


def test_a_run_that_was_promoted_again_after_its_rollback_counts(kind: IcebergRangeKind) -> None:
    promotion(kind, "r1")
    rollback(kind, "r1")
    promotion(kind, "r1")
    assert found(kind).promoted == ("r1",)


def test_where_the_whole_table_is_replaced_every_commit_counts_back_to_the_start_snapshot(
    kind: IcebergRangeKind,
) -> None:
    live(kind, 10, "a")
    start = StartSnapshot(head_of(kind.table().metadata.refs["main"].snapshot_id), {0: 10})
    live(kind, 20, "b", inside=False)
    whole = plan(kind, WholeTable(None))
    assert [(each.code, each.in_range) for each in found(kind, whole).live] == [("b", True), ("a", True)]
    assert [each.code for each in found(kind, replace(whole, state=start)).live] == ["b"]


def test_digests_of_lives_code_are_listed_once_newest_first(kind: IcebergRangeKind) -> None:
    for end, code in ((10, "a"), (20, "b"), (30, "a"), (40, None)):
        live(kind, end, code)
    live(kind, 50, "c", pipeline="returns")
    assert live_code_digests(kind.table(), "orders") == ("a", "b")
