"""Reads the target's snapshots and their metadata for validation, in a separate session."""

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
"""SQL functions that call arbitrary JVM methods."""


class SnapshotGoneError(AnabranchError):
    code = "validate.snapshot-gone"
    exit_code = ExitCode.CONFLICT


def own_session(spark: SparkSession, catalog: str) -> SparkSession:
    """A session with the table's current metadata and without the caller's views and settings.

    Its catalogs are opened again (the caller's may have cached the table from before the staging branch was created).
    Its time zone is UTC, and an overflow is an error.
    """
    own = SparkSession(spark.sparkContext, spark._jsparkSession.cloneSession())
    own.conf.set("spark.sql.session.timeZone", "UTC")
    own.conf.set("spark.sql.ansi.enabled", "true")
    state, jvm = own._jsparkSession.sessionState(), _jvm(own)
    for name in _REACHING_OUT:
        state.functionRegistry().dropFunction(jvm.org.apache.spark.sql.catalyst.FunctionIdentifier(name))
    # Spark opens a catalog with the settings of the thread's last session, unless it is open already.
    before = own.catalog.currentCatalog()
    for name in (catalog, before):
        own.sql(f"USE `{name}`")
    return own


@dataclass(frozen=True)
class TableReader:
    """One table, and the part that a plan replaces."""

    session: SparkSession
    catalog: str
    table: str
    partitions: TargetPart

    @property
    def name(self) -> str:
        return ".".join(f"`{part}`" for part in (self.catalog, *self.table.split(".")))

    def iceberg(self) -> Any:
        """The table in Iceberg's Java API."""
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
        """Whether a row is in partitions [first, after). Compares with constants, so that Spark skips files."""
        if self.partitions.axis is None:
            return sf.lit(True)
        grain, time = self.partitions.axis.grain, named(self.partitions.axis.column)
        kind = frame.schema[self.partitions.axis.column].dataType
        start, end = (_literal(kind, beginning(grain, number).isoformat()[:19]) for number in (first, after))
        return (time >= start) & (time < end)

    def bucket(self) -> SparkColumn:
        """The number of a row's partition, computed by Iceberg.

        Where the whole table is replaced, a row may have no time: it is counted in 1970.
        """
        axis = self.partitions.axis
        return sf.lit(0) if axis is None else sf.coalesce(self._number(axis), sf.lit(0))

    def _number(self, axis: TimeAxis) -> SparkColumn:
        call = f"`{self.catalog}`.system.{_FUNCTIONS[axis.grain]}(`{axis.column.replace('`', '``')}`)"
        return sf.expr(f"unix_date({call})" if axis.grain is Grain.DAY else call)

    def columns(self, snapshot: Head | None = None) -> tuple[Column, ...]:
        """The columns of a snapshot, or the current ones."""
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
        """The names of the partition fields on the time axis, of all partition specs."""
        table = self.iceberg()
        source = table.schema().findField(axis.column).fieldId()
        names = []
        for spec in table.specs().values():
            for field in spec.fields():
                if field.sourceId() == source and field.transform().toString() == axis.grain.value:
                    names.append(field.name())
        return sorted(set(names))


def find(name: str, columns: Sequence[str]) -> str | None:
    """The column with this name, ignoring case as SQL does."""
    return next((column for column in columns if column.lower() == name.lower()), None)


def reason(error: Exception) -> str:
    """Spark's reason for the refusal, without a stack."""
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
