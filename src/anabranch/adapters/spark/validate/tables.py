"""The target's snapshots read for validation, in a session of its own, and what the table format says of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import DateType, TimestampNTZType

from anabranch.adapters.iceberg.refs import snapshot_of
from anabranch.adapters.spark.validate.rows import named
from anabranch.errors import NOTHING_CHANGED, AnabranchError, ExitCode
from anabranch.plan.target_range import Grain, PartitionRange, TargetPart, TimeAxis, beginning
from anabranch.runs.heads import Head
from anabranch.validate.measures import Column

_FUNCTIONS = {Grain.HOUR: "hours", Grain.DAY: "days", Grain.MONTH: "months", Grain.YEAR: "years"}
_REACHING_OUT = ("reflect", "java_method", "try_reflect")
"""SQL functions that call any method of the JVM: with them a query could do anything."""


class SnapshotGoneError(AnabranchError):
    code = "validate.snapshot-gone"
    exit_code = ExitCode.CONFLICT


def own_session(spark: SparkSession, catalog: str) -> SparkSession:
    """A session that sees the table as it is now and in which nothing of the caller's changes a result.

    Its catalogs are opened again (the caller's may remember the table from before the staging branch was made),
    and its views and settings are its own: an hour is an hour of UTC, and an overflow is an error.
    """
    own = SparkSession(spark.sparkContext, spark._jsparkSession.cloneSession())
    own.conf.set("spark.sql.session.timeZone", "UTC")
    own.conf.set("spark.sql.ansi.enabled", "true")
    state, jvm = own._jsparkSession.sessionState(), _jvm(own)
    for name in _REACHING_OUT:
        state.functionRegistry().dropFunction(jvm.org.apache.spark.sql.catalyst.FunctionIdentifier(name))
    # Spark opens a catalog with the settings of whichever session the thread used last, unless it is open already.
    before = own.catalog.currentCatalog()
    for name in (catalog, before):
        own.sql(f"USE `{name}`")
    return own


@dataclass(frozen=True)
class TableReader:
    """One table in one catalog, and what of it a plan replaces."""

    session: SparkSession
    catalog: str
    table: str
    partitions: TargetPart

    @property
    def name(self) -> str:
        return ".".join(f"`{part}`" for part in (self.catalog, *self.table.split(".")))

    def iceberg(self) -> Any:
        """The table in the format's own API."""
        loader = _jvm(self.session).org.apache.iceberg.spark.Spark3Util
        return loader.loadIcebergTable(self.session._jsparkSession, self.name)

    def require(self, snapshot: Head) -> None:
        if self.iceberg().snapshot(snapshot_of(snapshot)) is None:
            raise SnapshotGoneError(
                f"{self.table} no longer has snapshot {snapshot}.",
                state=NOTHING_CHANGED,
                hint="plan again, and retain snapshots for longer than a backfill takes",
                table=self.table,
                snapshot=snapshot,
            )

    def at(self, snapshot: Head, suffix: str = "") -> DataFrame:
        """The whole table as of a snapshot, or its metadata table of that name."""
        return self.session.read.option("snapshot-id", snapshot).table(f"{self.name}{suffix}")

    def rows(self, snapshot: Head) -> DataFrame:
        """The rows of the range as of a snapshot."""
        frame = self.at(snapshot)
        if not isinstance(self.partitions, PartitionRange):
            return frame
        return frame.where(self.within(frame, self.partitions.first, self.partitions.after))

    def within(self, frame: DataFrame, first: int, after: int) -> SparkColumn:
        """Whether a row lies in partitions [first, after). Compared with constants, so that files are skipped."""
        if self.partitions.axis is None:
            return sf.lit(True)
        grain, time = self.partitions.axis.grain, named(self.partitions.axis.column)
        kind = frame.schema[self.partitions.axis.column].dataType
        start, end = (_literal(kind, beginning(grain, number).isoformat()[:19]) for number in (first, after))
        return (time >= start) & (time < end)

    def bucket(self) -> SparkColumn:
        """The number of a row's partition, counted by the table format itself.

        Where the whole table is replaced, a row may have no time: it counts with those of 1970.
        """
        axis = self.partitions.axis
        return sf.lit(0) if axis is None else sf.coalesce(self._number(axis), sf.lit(0))

    def _number(self, axis: TimeAxis) -> SparkColumn:
        call = f"`{self.catalog}`.system.{_FUNCTIONS[axis.grain]}(`{axis.column.replace('`', '``')}`)"
        return sf.expr(f"unix_date({call})" if axis.grain is Grain.DAY else call)

    def columns(self, snapshot: Head | None = None) -> tuple[Column, ...]:
        """The columns as of a snapshot, or as they are now."""
        table = self.iceberg()
        schema = table.schema()
        if snapshot is not None and table.snapshot(snapshot_of(snapshot)).schemaId() is not None:
            schema = table.schemas().get(table.snapshot(snapshot_of(snapshot)).schemaId())
        return tuple(Column(c.fieldId(), c.name(), c.type().toString(), c.isRequired()) for c in schema.columns())

    def summary(self, snapshot: Head, key: str) -> str | None:
        """A property of a snapshot."""
        value = self.iceberg().snapshot(snapshot_of(snapshot)).summary().get(key)
        return None if value is None else str(value)

    def axis_fields(self, axis: TimeAxis) -> list[str]:
        """The names of the partition fields along the time axis, under whatever partitioning."""
        table = self.iceberg()
        source = table.schema().findField(axis.column).fieldId()
        names = []
        for spec in table.specs().values():
            for field in spec.fields():
                if field.sourceId() == source and field.transform().toString() == axis.grain.value:
                    names.append(field.name())
        return sorted(set(names))


def find(name: str, columns: Sequence[str]) -> str | None:
    """The column that SQL would mean by this name: case is ignored."""
    return next((column for column in columns if column.lower() == name.lower()), None)


def reason(error: Exception) -> str:
    """Why Spark refused, in its own words, without a stack."""
    text = str(error.java_exception.getMessage()) if isinstance(error, Py4JJavaError) else str(error)
    return text.split("\n\nJVM stacktrace")[0].split("\n\tat ")[0].strip()[:2000]


def _literal(kind: object, moment: str) -> SparkColumn:
    if isinstance(kind, DateType):
        return sf.expr(f"DATE '{moment[:10]}'")
    if isinstance(kind, TimestampNTZType):
        return sf.expr(f"TIMESTAMP_NTZ '{moment}'")
    return sf.expr(f"TIMESTAMP_LTZ '{moment}Z'")


def _jvm(session: SparkSession) -> Any:
    return session._jvm
