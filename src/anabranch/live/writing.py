"""Commits a batch of live by the class of its pipeline: append, or merge by key. Exactly once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from anabranch.adapters.iceberg.catalog import IcebergCatalog
from anabranch.adapters.iceberg.live_branch import LiveBranch
from anabranch.adapters.iceberg.target import IcebergTarget
from anabranch.adapters.spark.decode.decode import events_of
from anabranch.adapters.spark.keyed.changes import LAST, KeyedChanges
from anabranch.adapters.spark.keyed.merge import merge
from anabranch.adapters.spark.transform.load import LoadedTransform
from anabranch.adapters.spark.transform.materialize import materialized
from anabranch.adapters.spark.transform.output_rows import align
from anabranch.adapters.spark.write.clustering import CLUSTERED
from anabranch.adapters.spark.write.target_table import spark_name
from anabranch.contract.pipeline import KEYED, Pipeline
from anabranch.promote.ports import ConcurrentCommitError

ATTEMPTS = 20
"""How often a merge is attempted if other commits conflict with it."""


class BatchWrite(Protocol):
    def __call__(self, decoded: DataFrame, commit: str, properties: Mapping[str, str]) -> int | None:
        """Commit the batch to main under this id. Returns its rows if the commit's summary does not have them.

        Commits a batch without rows too, so that the last commit always has live's position.
        """


def batch_write(
    catalog: IcebergCatalog,
    pipeline: Pipeline,
    transform: LoadedTransform,
    columns: StructType,
    is_last: Callable[[str], bool],
) -> BatchWrite:
    """The write of the pipeline's class. `is_last` returns whether live's last commit on main has this id."""
    if pipeline.spec.pipeline_class in KEYED:
        changes = KeyedChanges(pipeline.spec, transform, columns)
        target = IcebergTarget(catalog.open(), pipeline.spec.target.table)
        name = spark_name(catalog, pipeline.spec.target.table)
        return Merge(changes, name, LiveBranch(target, pipeline.metadata.name), is_last)
    return Append(transform, columns, spark_name(catalog, pipeline.spec.target.table), is_last)


def append(
    rows: DataFrame, table: str, commit: str, properties: Mapping[str, str], is_last: Callable[[str], bool]
) -> None:
    options = {**CLUSTERED, **{f"snapshot-property.{name}": value for name, value in properties.items()}}
    try:
        rows.writeTo(table).options(**options).append()
    except Exception:
        # The commit may have taken effect without an answer. Look it up: a blind retry would write the rows twice.
        if not is_last(commit):
            raise


@dataclass(frozen=True)
class Append:
    transform: LoadedTransform
    columns: StructType
    table: str
    is_last: Callable[[str], bool]

    def __call__(self, decoded: DataFrame, commit: str, properties: Mapping[str, str]) -> int | None:
        rows = align(self.transform(events_of(decoded)), self.columns)
        with self.transform.attribute_transform_errors():
            append(rows, self.table, commit, properties, self.is_last)
        return None


@dataclass(frozen=True)
class Merge:
    """Merges on a branch and moves main to it; if main has changed meanwhile, merges again on the new main."""

    changes: KeyedChanges
    table: str
    branch: LiveBranch
    is_last: Callable[[str], bool]

    def __call__(self, decoded: DataFrame, commit: str, properties: Mapping[str, str]) -> int | None:
        for _ in range(ATTEMPTS):
            try:
                return self._once(decoded, commit, properties)
            except ConcurrentCommitError as conflict:
                last_conflict = conflict
        raise last_conflict

    def _once(self, decoded: DataFrame, commit: str, properties: Mapping[str, str]) -> int:
        base = self.branch.begin()
        into = self.table if base is None else f"{self.table}.`branch_{self.branch.name}`"
        session = decoded.sparkSession
        with (
            self.changes.transform.attribute_transform_errors(),
            materialized(self.changes.of(decoded, session.table(into))) as changes,
        ):
            self.changes.require_sound(changes)
            rows = changes.where(F.col(LAST)).count()
            is_committed = (lambda: self.is_last(commit)) if base is None else (lambda: self.branch.has(commit))
            merge(changes, into, self.changes.keys, self.changes.columns.names, properties, is_committed)
        if base is not None:
            self._follow(base, commit)
        return rows

    def _follow(self, base: int, commit: str) -> None:
        try:
            self.branch.join(base)
        except Exception:
            # Main may have moved because our own commit took effect without an answer.
            if not self.is_last(commit):
                raise
