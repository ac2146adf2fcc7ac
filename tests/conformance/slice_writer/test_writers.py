"""Every writer of slices commits the same rows and the same ledger for the same slice, once, or nothing at all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial

import pytest
from tests.conformance.classes.dying import dying_at
from tests.conformance.classes.kinds import STATELESS, Kind
from tests.conformance.slice_writer.scene import BAD, Bench, Written
from tests.conformance.slice_writer.writers import LONG, NATIVE, WRITERS, WriterCase

from anabranch.adapters.spark.native.versions import BUILT_FOR
from anabranch.adapters.spark.write import factory
from anabranch.adapters.spark.write.slice_writer import SparkSliceWriter
from anabranch.errors import AnabranchError
from anabranch.plan.slices import Slice

pytestmark = [pytest.mark.kafka, pytest.mark.spark]
every_writer = pytest.mark.parametrize(
    "case",
    [*WRITERS, *(pytest.param(case, marks=[pytest.mark.long, pytest.mark.timeout(600)]) for case in LONG)],
    ids=lambda case: case.name,
)
BenchOf = Callable[[Kind], Bench]


def is_in(slice_: Slice, partition: int, offset: int) -> bool:
    start, end = slice_.offsets.get(partition, (0, 0))
    return start <= offset < end


def require_whole(written: Written) -> None:
    """All slices are there as they must be, by plain Python."""
    scene, plan = written.bench.scene, written.bench.plan
    assert written.rows() == scene.expected(corrected=True)
    staged = {each.slice_id: each for each in written.slices()}
    assert sorted(staged) == sorted(each.id for each in plan.slices)
    committed, bad = scene.kafka.read_all(scene.topic), scene.bad()
    for slice_ in plan.slices:
        for partition, (start, end) in slice_.offsets.items():
            account = staged[slice_.id].ledger.accounts[partition]
            there = [r for r in committed if r.partition == partition and start <= r.offset < end]
            quarantined = sum(
                1 for number, offset, _ in bad if number == partition and is_in(slice_, partition, offset)
            )
            assert account.balances
            assert account.offsets == end - start
            assert account.quarantined == quarantined
            assert account.control + account.aborted == end - start - len(there), "offsets that no reader sees"
            assert account.compacted + account.lost == 0
    planned = Counter(each for each in bad if any(is_in(slice_, *each[:2]) for slice_ in plan.slices))
    assert planned.total() == len(BAD)
    assert written.quarantined() == planned
    assert not written.orphans()


@every_writer
def test_rows_ledger_and_quarantine(bench_of: BenchOf, case: WriterCase) -> None:
    with bench_of(case.kind).staged(case) as written:
        written.write()
        require_whole(written)


@every_writer
def test_writers_of_one_kind_agree_in_every_ledger(bench_of: BenchOf, case: WriterCase) -> None:
    first = next(each for each in (*WRITERS, *LONG) if each.kind is case.kind)
    bench = bench_of(case.kind)
    with bench.staged(first) as one, bench.staged(case) as other:
        one.write()
        other.write()
        assert other.ledgers() == one.ledgers()
        assert other.rows() == one.rows()


@every_writer
def test_a_slice_that_ended_before_its_commit_is_written_once_by_the_next_try(
    bench_of: BenchOf, case: WriterCase, monkeypatch: pytest.MonkeyPatch
) -> None:
    with bench_of(case.kind).staged(case) as written:
        slices = written.bench.plan.slices
        with dying_at(monkeypatch, "slice.write.after"):
            written.write(slices[0])
        assert not written.slices(), "nothing is committed"
        written.write(*slices)
        require_whole(written)


@every_writer
def test_what_was_prefetched_and_discarded_leaves_no_file(bench_of: BenchOf, case: WriterCase) -> None:
    with bench_of(case.kind).staged(case) as written:
        for slice_ in written.bench.plan.slices:
            written.writer.prefetch(slice_)
        written.writer.discard_prefetched()
        assert not written.orphans()
        written.write()
        require_whole(written)


@every_writer
def test_a_staging_that_is_gone_takes_no_slice(bench_of: BenchOf, case: WriterCase) -> None:
    with bench_of(case.kind).staged(case) as written:
        main = written.bench.scene.rows()
        written.bench.target.remove_refs(written.job.run_id)
        with pytest.raises(AnabranchError) as refused:
            written.write(written.bench.plan.slices[0])
        assert refused.value.code == "replay.slice-failed"
        assert written.bench.scene.rows() == main
        assert written.bench.target.head(written.staging.name) is None, "no branch is made for it"


def test_with_other_versions_the_plain_writer_is_used_and_the_user_is_told(
    bench_of: BenchOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(factory, "running_versions", lambda _: {**BUILT_FOR, "Iceberg": "1.12.0"})
    notices: list[str] = []
    case = WriterCase("other-versions", STATELESS, partial(NATIVE, notice=notices.append), SparkSliceWriter)
    with bench_of(STATELESS).staged(case) as written:
        written.write()
        require_whole(written)
    [notice] = notices
    assert "Iceberg 1.12.0" in notice
