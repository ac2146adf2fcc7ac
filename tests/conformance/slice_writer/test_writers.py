"""Every writer of slices commits the same rows and the same ledger for the same slice, once, or nothing at all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from tests.conformance.classes.dying import dying_at
from tests.conformance.classes.kinds import STATELESS, Kind
from tests.conformance.slice_writer.scene import BAD, EPOCH, Bench, Written
from tests.conformance.slice_writer.writers import LONG, NATIVE, WRITERS, WriterCase

from anabranch.adapters.spark.native.append_writer import NativeAppendWriter
from anabranch.adapters.spark.native.versions import BUILT_FOR
from anabranch.adapters.spark.write import factory
from anabranch.adapters.spark.write.progress import ProgressTracker
from anabranch.adapters.spark.write.slice_committer import SliceCommitter
from anabranch.adapters.spark.write.slice_writer import SparkSliceWriter
from anabranch.adapters.spark.write.target_table import spark_name
from anabranch.errors import AnabranchError
from anabranch.plan.slices import Slice
from anabranch.replay.slice_ledger import SliceLedger

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


def test_a_writer_that_is_superseded_just_before_its_commit_commits_nothing(
    bench_of: BenchOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Iceberg's append would create the branch again, on top of main."""
    [native] = [case for case in WRITERS if case.made is NativeAppendWriter]
    with bench_of(native.kind).staged(native) as written:
        target, run = written.bench.target, written.job.run_id
        [former] = target.stagings(run)

        class Superseded(dict[str, str]):
            """Read when the append is built, and committed next."""

            def items(self) -> Any:
                target.hand_over(former, run, EPOCH + 1)
                return super().items()

        own = SliceCommitter.properties
        monkeypatch.setattr(SliceCommitter, "properties", lambda *given: Superseded(own(*given)))
        with pytest.raises(AnabranchError) as refused:
            written.write(written.bench.plan.slices[0])
        assert refused.value.code == "replay.slice-failed"
        assert "superseded" in refused.value.what
        assert [place.epoch for place in target.stagings(run)] == [EPOCH + 1], "its branch is not made again"
        assert target.head(target.stagings(run)[0].name) == former.head, "and the next epoch's has not moved"
        assert not written.orphans()


def test_a_branch_that_was_made_again_from_main_holds_no_slice(bench_of: BenchOf) -> None:
    """As Spark's append makes it, if another epoch takes staging while its rows are written."""
    [plain] = [case for case in WRITERS if case.made is SparkSliceWriter]
    with bench_of(plain.kind).staged(plain) as written:
        job, staging, slice_ = written.job, written.staging, written.bench.plan.slices[0]
        target = written.bench.target
        [former] = target.stagings(job.run_id)
        target.hand_over(former, job.run_id, EPOCH + 1)
        jvm: Any = job.spark._jvm
        name = spark_name(job.catalog, job.plan.target.table)
        table = jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(job.spark._jsparkSession, name)
        append = table.newFastAppend().toBranch(staging.name)
        committer = SliceCommitter(job, ProgressTracker())
        for key, value in committer.properties(slice_, staging, SliceLedger(0, {})).items():
            append.set(key, value)
        append.commit()
        assert target.head(staging.name) is not None, "Iceberg has made it again"
        assert committer.find(slice_, staging) is None
        with pytest.raises(AnabranchError, match="superseded"):
            committer.require(slice_, staging)


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
