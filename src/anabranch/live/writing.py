"""How a batch of live gets into the table, by the class of its pipeline: appended, or merged by key. Exactly once."""

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
"""How often a merge is made again because somebody else has committed meanwhile."""


class BatchWrite(Protocol):
    def __call__(self, decoded: DataFrame, commit: str, said: Mapping[str, str]) -> int | None:
        """Commit the batch to main under this id; its rows, where the commit itself does not tell them.

        Also when there are no rows: the end of the last commit is then always where live stands.
        """


def write_of(
    catalog: IcebergCatalog,
    pipeline: Pipeline,
    transform: LoadedTransform,
    columns: StructType,
    is_last: Callable[[str], bool],
) -> BatchWrite:
    """`is_last` tells whether live's last commit on main has this id."""
    if pipeline.spec.pipeline_class in KEYED:
        changes = KeyedChanges(pipeline.spec, transform, columns)
        target = IcebergTarget(catalog.open(), pipeline.spec.target.table)
        name = spark_name(catalog, pipeline.spec.target.table)
        return Merge(changes, name, LiveBranch(target, pipeline.metadata.name), is_last)
    return Append(transform, columns, spark_name(catalog, pipeline.spec.target.table), is_last)


def append(rows: DataFrame, table: str, commit: str, said: Mapping[str, str], is_last: Callable[[str], bool]) -> None:
    options = {**CLUSTERED, **{f"snapshot-property.{name}": value for name, value in said.items()}}
    try:
        rows.writeTo(table).options(**options).append()
    except Exception:
        # The commit may have landed though its answer was lost: the table knows, and a blind retry would double it.
        if not is_last(commit):
            raise


@dataclass(frozen=True)
class Append:
    transform: LoadedTransform
    columns: StructType
    table: str
    is_last: Callable[[str], bool]

    def __call__(self, decoded: DataFrame, commit: str, said: Mapping[str, str]) -> int | None:
        rows = align(self.transform(events_of(decoded)), self.columns)
        with self.transform.attribute_transform_errors():
            append(rows, self.table, commit, said, self.is_last)
        return None


@dataclass(frozen=True)
class Merge:
    """Merged on a branch, which main then follows if it has not moved; otherwise merged again onto what main is."""

    changes: KeyedChanges
    table: str
    branch: LiveBranch
    is_last: Callable[[str], bool]

    def __call__(self, decoded: DataFrame, commit: str, said: Mapping[str, str]) -> int | None:
        for _ in range(ATTEMPTS):
            try:
                return self._once(decoded, commit, said)
            except ConcurrentCommitError as moved:
                last = moved
        raise last

    def _once(self, decoded: DataFrame, commit: str, said: Mapping[str, str]) -> int:
        onto = self.branch.begin()
        into = self.table if onto is None else f"{self.table}.`branch_{self.branch.name}`"
        session = decoded.sparkSession
        with (
            self.changes.transform.attribute_transform_errors(),
            materialized(self.changes.of(decoded, session.table(into))) as found,
        ):
            self.changes.require_sound(found)
            rows = found.where(F.col(LAST)).count()
            landed = (lambda: self.is_last(commit)) if onto is None else (lambda: self.branch.has(commit))
            merge(found, into, self.changes.keys, self.changes.columns.names, said, landed)
        if onto is not None:
            self._follow(onto, commit)
        return rows

    def _follow(self, onto: int, commit: str) -> None:
        try:
            self.branch.join(onto)
        except Exception:
            # Also when it is main that was moved: by our own commit, whose answer was lost.
            if not self.is_last(commit):
                raise
