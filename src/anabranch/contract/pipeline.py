"""The model of a pipeline: its topic, transform, table and owner."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from anabranch.contract.columns import check_columns, ddl
from anabranch.contract.effects import Effects
from anabranch.contract.event_window import EventWindow
from anabranch.contract.partitioning import PartitionBy, time_problem
from anabranch.contract.transform import TransformSpec
from anabranch.project.model import Envelope, Part, Positive, Switch, Whole, Words
from anabranch.project.quantities import Duration
from anabranch.project.refusals import Problem, refusal, refuse

PipelineClass = Literal["stateless", "upsert", "windowed", "ordered"]
_IDENTIFIER = "[a-z_][a-z0-9_]{0,127}"
# Iceberg reads a last part with such a prefix as a branch or snapshot of the table before it.
_NOT_A_TABLE = ("branch_", "tag_", "snapshot_id_", "at_timestamp_")
KEYED: tuple[PipelineClass, ...] = ("upsert", "ordered")
"""The classes whose table is a state by key: rows are merged, and a batch may delete some."""
_KEY_TYPES = frozenset({"string", "int", "integer", "bigint", "long"})
_NUMBERS = frozenset({"bigint", "long", "int", "integer", "double"})


def _topic(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9._-]{1,249}", text) or text in (".", ".."):
        raise refuse("this is not a topic name", "letters, digits, dots, underscores and hyphens: shop.orders")
    if text.startswith("__"):
        raise refuse("this is an internal topic of Kafka", "another topic: shop.orders")
    return text


def _table(text: str) -> str:
    if not re.fullmatch(rf"{_IDENTIFIER}\.{_IDENTIFIER}", text):
        raise refuse("this is not a table name", "database.table in lower case: shop.orders")
    if text.split(".")[1].startswith(_NOT_A_TABLE):
        raise refuse(
            "Iceberg reads a name with this prefix as a branch or snapshot, not as a table",
            "a name without this prefix",
        )
    return text


def _group(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9._-]{1,200}", text):
        raise refuse("this is not a consumer group name", "letters, digits, dots, underscores and hyphens: shop-orders")
    if text.startswith("anabranch-replay"):
        raise refuse("names starting with anabranch-replay are reserved for replays", "another name: shop-orders")
    return text


def _keys(names: tuple[str, ...]) -> tuple[str, ...]:
    problems = []
    for index, name in enumerate(names):
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,127}", name):
            problems.append(Problem("this is not a column name", "letters, digits and underscores", (index,)))
        elif name.lower() in (other.lower() for other in names[:index]):
            problems.append(Problem("the column is listed twice", "each column once", (index,)))
    if problems:
        raise refusal(*problems)
    return names


Columns = Annotated[tuple[str, ...], AfterValidator(_keys), Field(min_length=1)]


def _lookups(tables: Mapping[str, str]) -> Mapping[str, str]:
    problems = []
    for name in tables:
        if not re.fullmatch(_IDENTIFIER, name):
            problems.append(Problem("this is not a lookup name", "lower-case letters, digits, underscores", (name,)))
        elif name in _RESERVED:
            problems.append(Problem("the name is reserved for a view of the transform", "another name", (name,)))
    if problems:
        raise refusal(*problems)
    return tables


_RESERVED = frozenset({"events", "state"})
"""Names of the views of a SQL transform."""

Table = Annotated[str, AfterValidator(_table)]
Lookups = Annotated[Mapping[str, Table], AfterValidator(_lookups), Field(min_length=1)]


def _column(name: str) -> str:
    _keys((name,))
    return name


class SourceSpec(Part):
    """Where the events come from."""

    topic: Annotated[str, AfterValidator(_topic)] = Field(
        description="The Kafka topic to read.", examples=["shop.orders"]
    )
    format: Literal["json"] = Field(default="json", description="The format of the record's value.")
    columns: Annotated[Mapping[str, str], AfterValidator(check_columns), Field(min_length=1)] = Field(
        alias="schema",
        description="The fields of the value and their Spark types, in order; these become the columns of `events`.",
        examples=[{"order_id": "string", "amount": "decimal(18,2)"}],
    )

    key: Annotated[str, AfterValidator(_column)] | None = Field(
        default=None,
        description="The column that the record's key holds, as UTF-8 text: a record without a value then deletes "
        "the row of that key (classes upsert and ordered).",
        examples=["order_id"],
    )

    @property
    def ddl(self) -> str:
        """The columns as Spark reads a schema."""
        return ddl(self.columns)


class EventTime(Part):
    """The time of an event, by its own field."""

    field: Words = Field(description="The column with the time of the event.", examples=["ordered_at"])
    format: Literal["iso8601", "epochSeconds", "epochMillis", "epochMicros"] = Field(
        default="iso8601",
        description="The format of that column: ISO 8601 text or a timestamp, or a number since 1970.",
    )
    slack: Duration = Field(
        default="1h",
        validate_default=True,
        description="Maximum difference between event time and the broker's timestamp, in either direction.",
        examples=["1h"],
    )


class TargetSpec(Part):
    """The table that the rows are written to."""

    table: Table = Field(description="The table, as database.table in the context's catalog.", examples=["shop.orders"])
    keys: Columns | None = Field(
        default=None,
        description="Columns that together identify a row; required for the classes upsert and ordered.",
        examples=[["order_id"]],
    )
    columns: Annotated[Mapping[str, str], AfterValidator(check_columns), Field(min_length=1)] | None = Field(
        default=None,
        alias="schema",
        description="The table's columns and their Spark types, in order; required for the class ordered, whose "
        "transform reads the table that it writes.",
        examples=[{"account": "string", "balance": "decimal(18,2)"}],
    )
    partition_by: PartitionBy | None = Field(
        default=None,
        description="How the table is partitioned when Anabranch creates it: `hour`, `day`, `month` or `year` of the "
        "event time, or a list of columns with Iceberg's transforms. An existing table must be partitioned the same "
        "way.",
        examples=["day", ["days(ordered_at)", "bucket(16, order_id)"]],
    )


class Live(Part):
    """Limits for live during a replay. A rehearsal is compared with them, and a running replay is held below them."""

    max_lag_records: Positive | None = Field(
        default=None,
        description="Maximum lag of live, in records. The capacity gate and the forecast of `plan` and `rehearse` "
        "compare the lag measured by the last rehearsal with it; the governor slows a running replay down from 80 % of "
        "it, to its minimum rate at it.",
        examples=[100000],
    )
    max_latency: Duration | None = Field(
        default=None,
        description="Maximum time for an event to reach the table. The capacity gate and the forecast of `plan` and "
        "`rehearse` compare the latency measured by the last rehearsal with it; the governor slows a running replay "
        "down from 80 % of it, to its minimum rate at it.",
        examples=["2m"],
    )


class StateKeeping(Part):
    """How often a state of the table or the stream is stored for replays to start from, and how long it is retained."""

    every: Duration = Field(
        default="1d", validate_default=True, description="Interval between two stored states.", examples=["1d"]
    )
    keep: Duration = Field(
        default="30d", validate_default=True, description="How long each state is retained.", examples=["30d"]
    )


class QuarantineSpec(Part):
    """How many records that can't be decoded a run may quarantine."""

    max_records: Whole = Field(
        default=1000, description="Maximum number of quarantined records; one more stops the run.", examples=[1000]
    )


class PipelineSpec(Part):
    pipeline_class: PipelineClass = Field(
        alias="class",
        description="How rows depend on events: each on its own (stateless), on the last one of a key (upsert), "
        "on those of a time window (windowed), or on their order (ordered).",
    )
    owner: Words = Field(description="Who is responsible for the pipeline.", examples=["shop-data@example.com"])
    business_critical: Switch = Field(
        default=False,
        description="Whether the business depends on the table: a red gate then blocks replays of any size, in "
        "every context that enforces gates.",
        examples=[True],
    )
    source: SourceSpec = Field(
        description="The topic, and how its records are decoded.", examples=[{"topic": "shop.orders"}]
    )
    event_time: EventTime = Field(description="The time of an event.", examples=[{"field": "ordered_at"}])
    transform: TransformSpec = Field(
        description="The code that turns events into rows.", examples=[{"python": "transforms.orders:transform"}]
    )
    window: EventWindow | None = Field(
        default=None,
        description="Which events make up a row, and how long live waits for late ones; required for the class "
        "windowed.",
        examples=[{"kind": "tumbling", "size": "1h", "lateness": "10m"}],
    )
    target: TargetSpec = Field(
        description="The table that the rows are written to.", examples=[{"table": "shop.orders"}]
    )
    lookups: Lookups | None = Field(
        default=None,
        description="Lookup tables of the transform, by the names it uses: a backfill reads them at pinned snapshots, "
        "live at each batch's current snapshot.",
        examples=[{"rates": "shop.rates"}],
    )
    consumer_group: Annotated[str, AfterValidator(_group)] = Field(
        description="The consumer group to which live commits its offsets, so that Kafka's tools show its lag.",
        examples=["shop-orders"],
    )
    live: Live = Field(default=Live(), description="Limits for live during a replay.", examples=[{"maxLatency": "2m"}])
    state: StateKeeping = Field(
        default=StateKeeping(),
        description="Which states are stored for replays to start from: of the table (classes upsert and ordered), "
        "or of the stream (class windowed).",
        examples=[{"every": "1d", "keep": "30d"}],
    )
    quarantine: QuarantineSpec = Field(
        default=QuarantineSpec(),
        description="How many records that can't be decoded are tolerated.",
        examples=[{"maxRecords": 1000}],
    )
    effects: Effects | None = Field(
        default=None,
        description="Side effects of the transform: `none`, or a list of them, each with what a replay does about it.",
        examples=["none", [{"name": "mail to the customer", "suppressed": True}]],
    )
    residency: Words | None = Field(
        default=None,
        description="Where the data must stay; the target's property `residency` must have the same value.",
        examples=["eu"],
    )

    @model_validator(mode="after")
    def _consistent(self) -> PipelineSpec:
        problems = [
            *self._event_time_problems(),
            *self._window_problems(),
            *self._partitioning_problems(),
            *key_problems(self),
        ]
        if problems:
            raise refusal(*problems)
        return self

    def _event_time_problems(self) -> Iterator[Problem]:
        columns = {name.lower(): kind.lower() for name, kind in self.source.columns.items()}
        kind = columns.get(self.event_time.field.lower())
        if kind is None and self.event_time.field != "_timestamp":
            known = ", ".join(self.source.columns)
            yield Problem("this column is not in source.schema", f"one of {known}", ("eventTime", "field"))
        if kind is not None and self.event_time.format == "iso8601" and kind not in ("string", "timestamp"):
            yield Problem(
                f"iso8601 needs a string or timestamp column, and this column is {kind}",
                "format: epochMillis",
                ("eventTime", "format"),
            )
        if kind is not None and self.event_time.format != "iso8601" and kind not in _NUMBERS:
            what = f"{self.event_time.format} needs a number column, and this column is {kind}"
            yield Problem(what, "format: iso8601, or the column as bigint", ("eventTime", "format"))

    def _window_problems(self) -> Iterator[Problem]:
        if self.pipeline_class == "windowed" and self.window is None:
            write = "window: {kind: tumbling, size: 1h, lateness: 10m}"
            yield Problem("a pipeline of class windowed needs a window", write, ())
        if self.pipeline_class != "windowed" and self.window is not None:
            what = f"only class windowed has a window, and this pipeline is of class {self.pipeline_class}"
            yield Problem(what, "class: windowed", ("window",))

    def _partitioning_problems(self) -> Iterator[Problem]:
        written = self.target.partition_by
        if written is None or self.pipeline_class in KEYED:
            return
        reason = time_problem(written)
        if reason is not None:
            yield Problem(reason, "one of them by time: days(ordered_at)", ("target", "partitionBy"))


def key_problems(spec: PipelineSpec) -> Iterator[Problem]:
    """The problems with keys, by what the class requires."""
    kind, keys, key = spec.pipeline_class, spec.target.keys or (), spec.source.key
    columns = {name.lower(): kind.lower() for name, kind in spec.source.columns.items()}
    if kind in KEYED and not keys:
        yield Problem(f"a pipeline of class {kind} needs target.keys", "keys: [order_id]", ("target",))
    if kind == "ordered":
        for index, name in enumerate(keys):
            if name.lower() not in columns:
                what = "class ordered groups events by its keys, and this one is not in source.schema"
                yield Problem(what, f"one of {', '.join(spec.source.columns)}", ("target", "keys", index))
        if spec.target.columns is None:
            what = "class ordered needs the table's columns, since its transform reads the table it writes"
            yield Problem(what, "schema: {account: string, …}", ("target",))
    if key is None:
        return
    if kind not in KEYED:
        yield Problem(f"class {kind} has no deletions by key", "no key", ("source", "key"))
    elif [name.lower() for name in keys] != [key.lower()]:
        yield Problem("source.key deletes a row only if it is the whole of target.keys", f"keys: [{key}]", ("target",))
    elif columns.get(key.lower()) not in _KEY_TYPES:
        known = "a column of source.schema that is a string, an int or a bigint"
        yield Problem("this column can't hold a record's key", known, ("source", "key"))


class Pipeline(Envelope):
    """A pipeline: from a topic, through a transform, into a table."""

    kind: Literal["Pipeline"] = Field(description="What this file is.")
    spec: PipelineSpec = Field(description="The pipeline itself.", examples=[{"class": "stateless"}])
