"""Faults put into the product on purpose: each must be caught, and by whom is said. Without one, nothing is found."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from anabranch.adapters.iceberg import staging as iceberg
from anabranch.adapters.iceberg.files import files_in
from anabranch.adapters.iceberg.target import IcebergTarget
from anabranch.adapters.spark.decode.decode import EVENT_TIME
from anabranch.adapters.spark.native.data_files import DataFiles, PlannedFiles
from anabranch.adapters.spark.native.record_counter import RecordCounter
from anabranch.adapters.spark.source import kafka_source, slice_source
from anabranch.adapters.spark.write.quarantine import QuarantineTable
from anabranch.adapters.spark.write.target_rows import RangeFilter, TargetRows
from anabranch.adapters.sql.store import open_store
from anabranch.app.backfill import BackfillRun
from anabranch.errors import AnabranchError
from anabranch.gates.collect import GateService
from anabranch.plan.target_range import PartitionRange
from anabranch.replay.drift_guard import DriftGuard
from anabranch.replay.replayer import Replayer
from anabranch.validate.result import CheckOutcome
from tests.fixtures.broker import KafkaForTests
from tests.fixtures.spark import SparkForTests
from tests.scenarios.checker import between, differences
from tests.scenarios.shop import END, START, Shop, hours, staged_slices

Patch = pytest.MonkeyPatch
POISON = b"not json"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, kafka: KafkaForTests, spark: SparkForTests) -> Iterator[Shop]:
    """One topic and table for all faults of a replay: transactions, one of them aborted, and one bad record."""
    shop = Shop.open(tmp_path_factory.mktemp("mutants") / "shop", kafka, spark, partitions=1)
    orders = hours(partitions=1)
    orders[50] = {**orders[50], "value": POISON}
    shop.transaction(orders, commit=True)
    shop.transaction(hours([2, 3], each=5, partitions=1, begin=500), commit=False)
    shop.live()
    yield shop
    shop.store.close()


@pytest.fixture
def run(world: Shop, tmp_path: Path) -> Iterator[BackfillRun]:
    """A run with a control database of its own: there, two runs of one range would be in each other's way."""
    with open_store(f"sqlite:///{tmp_path / 'runs.db'}") as store:
        yield world.plan(slices=2, store=store)


def found(shop: Shop, run: BackfillRun, *, times: int = 1) -> set[str]:
    """Everybody who says that something is wrong: a refusal, checks of the validation, the independent checker."""
    try:
        for _ in range(times):
            report = shop.apply(run)
    except AnabranchError as refused:
        return {refused.code}
    said = {f"validation: {result.check}" for result in report.results if result.outcome is CheckOutcome.FAILED}
    [branch] = (each.name for each in run.target.stagings(run.run_id))
    if differences(shop.corrected(), shop.rows(branch)):
        said.add("checker: rows")
    aside = [(row["offset"], row["value"]) for row in shop.quarantined() if row["run"] == run.run_id]
    return said if aside == [(50, POISON)] else {*said, "checker: quarantine"}


def slice_skipped(patch: Patch) -> None:
    honest = Replayer._remaining
    patch.setattr(Replayer, "_remaining", lambda self, wanted: iter(list(honest(self, wanted))[1:]))


def slice_twice(patch: Patch) -> None:
    patch.setattr(
        Replayer, "_remaining", lambda self, wanted: iter([(self.variants[0], step.slice) for step in wanted])
    )


def uncommitted(patch: Patch) -> None:
    patch.setitem(kafka_source.SAFE, "kafka.isolation.level", "read_uncommitted")


def range_ends(hours_later: int) -> Callable[[Patch], None]:
    def mutate(patch: Patch) -> None:
        def in_range(self: RangeFilter) -> Column:
            partitions = self.partitions
            assert isinstance(partitions, PartitionRange)
            end = partitions.end + hours_later * timedelta(hours=1)
            return (F.col(EVENT_TIME) >= F.lit(partitions.start)) & (F.col(EVENT_TIME) < F.lit(end))

        patch.setattr(RangeFilter, "in_range", property(in_range))

    return mutate


def no_filter(patch: Patch) -> None:
    patch.setattr(RangeFilter, "in_range", property(lambda _self: F.lit(True)))


def record_dropped(patch: Patch) -> None:
    honest = kafka_source.read_offsets

    def lossy(*args: Any, **options: Any) -> DataFrame:
        return honest(*args, **options).where(F.col("offset") != 60)

    patch.setattr(slice_source, "read_offsets", lossy)


def quarantine_forgets(patch: Patch) -> None:
    patch.setattr(QuarantineTable, "set_aside", lambda _self, _bad, _batch, count: count)


def counted_wrong(kind: str, wrong: Callable[[int], int]) -> Callable[[Patch], None]:
    def mutate(patch: Patch) -> None:
        honest = RecordCounter.__dict__["counts"].func

        def counts(self: RecordCounter) -> dict[int, dict[str, int]]:
            found: dict[int, dict[str, int]] = honest(self)
            return {p: {name: wrong(n) if name == kind else n for name, n in each.items()} for p, each in found.items()}

        patch.setattr(RecordCounter, "counts", property(counts))

    return mutate


def rows_of_no_partition(patch: Patch) -> None:
    honest = TargetRows.of

    def astray(self: TargetRows, decoded: DataFrame) -> DataFrame:
        return honest(self, decoded).withColumn("_partition", F.lit(99))

    patch.setattr(TargetRows, "of", astray)


def files_lost(patch: Patch) -> None:
    honest = PlannedFiles.write

    def lossy(self: PlannedFiles) -> DataFiles:
        files = honest(self)
        return replace(files, files=files.files[1:])

    patch.setattr(PlannedFiles, "write", lossy)


def range_left_in_staging(patch: Patch) -> None:
    patch.setattr(iceberg, "files_in", _nothing_at_first(files_in))


def _nothing_at_first(honest: Callable[..., Any]) -> Callable[..., Any]:
    calls: list[None] = []

    def forgetful(*args: Any) -> Any:
        calls.append(None)
        return {} if len(calls) == 1 else honest(*args)

    return forgetful


FAULTS: dict[str, tuple[Callable[[Patch], None], set[str]]] = {
    "none at all": (lambda _patch: None, set()),
    "a slice skipped": (slice_skipped, {"validation: conservation", "checker: rows"}),
    "a slice replayed twice": (
        slice_twice,
        {"validation: conservation", "validation: keys", "checker: rows"},
    ),
    "aborted transactions read": (uncommitted, {"replay.ledger"}),
    "the range an hour too long": (range_ends(1), {"replay.row-outside-range"}),
    "the range an hour too short": (range_ends(-1), {"checker: rows"}),
    "no filter by event time": (no_filter, {"replay.row-outside-range"}),
    "a record dropped on the way": (record_dropped, {"replay.ledger"}),
    "a quarantine that forgets": (quarantine_forgets, {"validation: quarantine", "checker: quarantine"}),
    "a ledger with a row too many": (counted_wrong("rows", lambda n: n + 1), {"replay.ledger"}),
    "a ledger that counts events twice": (counted_wrong("in_range", lambda n: 2 * n), {"replay.ledger"}),
    "rows that say they are of another partition": (rows_of_no_partition, {"replay.ledger"}),
    "a file that is not committed": (files_lost, {"replay.ledger"}),
    "the former rows left in staging": (range_left_in_staging, {"validation: rows written", "checker: rows"}),
}


@pytest.mark.long
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_replay_is_caught(world: Shop, run: BackfillRun, monkeypatch: Patch, fault: str) -> None:
    mutate, caught_by = FAULTS[fault]
    mutate(monkeypatch)
    said = found(world, run, times=2 if mutate is slice_twice else 1)
    assert caught_by <= said
    assert bool(said) == (fault != "none at all")


@pytest.mark.parametrize("topic", ["plain", "of transactions"])
def test_a_record_that_a_reader_drops_fails_its_slice(
    world: Shop, run: BackfillRun, new_shop: Callable[..., Shop], monkeypatch: Patch, topic: str
) -> None:
    shop = world
    if topic == "plain":
        shop = new_shop(partitions=1)
        shop.produce(hours(partitions=1))
        shop.live()
        run = shop.plan(slices=2)
    record_dropped(monkeypatch)
    with pytest.raises(AnabranchError) as refused:
        shop.apply(run)
    assert refused.value.code == "replay.ledger"
    slice_ = next(each for each in run.plan.slices if each.offsets[0][0] <= 60 < each.offsets[0][1])
    start, end = slice_.offsets[0]
    there = sum(start <= record.offset < end for record in shop.records())
    assert refused.value.what == (
        f"Slice {slice_.id}, partition 0, offsets [{start}, {end}): {there} committed records in the log, "
        f"{there - 1} counted."
    )
    assert staged_slices(run) == run.plan.slices.index(slice_), "those before it"


def test_files_that_are_not_committed_are_not_left_behind(world: Shop, run: BackfillRun, monkeypatch: Patch) -> None:
    before = data_files_of(run)
    counted_wrong("rows", lambda n: n + 1)(monkeypatch)
    with pytest.raises(AnabranchError) as refused:
        world.apply(run)
    assert refused.value.code == "replay.ledger"
    assert data_files_of(run) == before
    monkeypatch.undo()
    world.apply(run)
    assert data_files_of(run) > before, "where they would have been"


def data_files_of(run: BackfillRun) -> set[Path]:
    table = IcebergTarget(run.project_context.catalog.open(), run.plan.target.table).load()
    return set(Path(table.location().removeprefix("file:")).rglob("*.parquet"))


def test_lost_records_are_caught_even_if_neither_guard_nor_gate_nor_reader_says_so(
    shop: Shop, monkeypatch: Patch
) -> None:
    former = shop.former()
    run = shop.plan(slices=1)
    [(start, _)] = run.plan.source.ranges[0]
    shop.delete_records({0: start + 5})
    monkeypatch.setattr(DriftGuard, "check", lambda _self: None)
    with pytest.raises(AnabranchError) as refused:
        shop.apply(run)
    assert refused.value.code == "gates.closed", "the gates say so"
    monkeypatch.setattr(GateService, "clear_for_replay", lambda self: SimpleNamespace(plan=self.plan))
    with pytest.raises(AnabranchError) as refused:
        shop.apply(run)
    assert refused.value.code == "replay.slice-failed", "and if they do not, the reader does"
    monkeypatch.setitem(kafka_source.SAFE, "failOnDataLoss", "false")
    with pytest.raises(AnabranchError) as refused:
        shop.apply(run)
    assert refused.value.code == "replay.ledger", "and if that does not, the sums do"
    shop.require(former)
    assert between(shop.rows(run.target.stagings(run.run_id)[0].name), START, END).total() == 0
