"""The model of a contract: which history a backfill replays, why, within which limits, and who may roll it back."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import time
from typing import Annotated, Literal, get_args
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PlainSerializer,
    Strict,
    WithJsonSchema,
    model_validator,
)

from anabranch.contract.head_names import HeadName
from anabranch.contract.pipeline import Columns
from anabranch.contract.ranges import Range
from anabranch.project.model import Envelope, Name, Part, Positive, Whole, Words
from anabranch.project.paths import ProjectFile
from anabranch.project.quantities import Duration, Moment, Percentage, Size
from anabranch.project.refusals import Problem, refusal, refuse

WantedStrategy = Literal["batch-exact", "stream-faithful"]


def _distinct(partitions: tuple[int, ...]) -> tuple[int, ...]:
    twice = [index for index, number in enumerate(partitions) if number in partitions[:index]]
    if twice:
        raise refusal(*(Problem("the partition is listed twice", "each partition once", (i,)) for i in twice))
    return partitions


class Expectation(Part):
    """How many rows the range should hold afterwards."""

    rows: Whole = Field(description="The rows the range should hold after the backfill.", examples=[250000])
    tolerance: Percentage = Field(
        default="0%",
        validate_default=True,
        description="How far the count may deviate, in either direction.",
        examples=["1%"],
    )


class ValidationQuery(Part):
    """A SQL check over the staged table; it passes if it returns no rows."""

    sql: Words | None = Field(
        default=None, description="The query itself.", examples=["SELECT * FROM staged WHERE amount < 0"]
    )
    file: ProjectFile | None = Field(
        default=None, description="A file of the project with the query.", examples=["checks/negative.sql"]
    )

    @model_validator(mode="after")
    def _one_of_them(self) -> ValidationQuery:
        if (self.sql is None) == (self.file is None):
            raise refuse("a query is either sql or a file", "sql: SELECT …, or file: checks/name.sql")
        return self


class Validation(Part):
    """Checks that the staged rows must pass before promotion."""

    queries: Mapping[Name, ValidationQuery] = Field(
        default_factory=dict,
        description="SQL checks by name; each passes if it returns no rows.",
        examples=[{"no-negative-amounts": {"sql": "SELECT * FROM staged WHERE amount < 0"}}],
    )
    not_null: Columns | None = Field(
        default=None, description="Columns that must hold no null.", examples=[["order_id"]]
    )
    known_records: ProjectFile | None = Field(
        default=None,
        description="A JSON-lines file of rows known to be correct, for spot checks.",
        examples=["checks/known.jsonl"],
    )


def _code(text: str) -> str:
    if not re.fullmatch(_CODE, text):
        raise refuse("this is not a version of the code", "code: live, or the digest of a stored version")
    return text


_CODE = "live|[0-9a-f]{8,64}"
LIVE_CODE = "live"


class Control(Part):
    """The control replay: production's code over the same offsets, to separate the fix from existing differences."""

    code: Annotated[str, AfterValidator(_code), WithJsonSchema({"type": "string", "pattern": f"^({_CODE})$"})] = Field(
        default=LIVE_CODE,
        description="Which version: `live` for the one that wrote the range, or a digest (or a unique prefix of one).",
        examples=["live"],
    )


class LookupAsOf(Part):
    """Which snapshot of a lookup table the replay reads; the table's head when the plan is made if left out."""

    as_of: Moment | None = Field(
        default=None, description="The snapshot that was current at this moment.", examples=["2025-06-01T00:00:00Z"]
    )
    snapshot: HeadName | None = Field(
        default=None, description="The id of a snapshot of the table.", examples=[4190362713217890000]
    )

    @model_validator(mode="after")
    def _one_of_them(self) -> LookupAsOf:
        if (self.as_of is None) == (self.snapshot is None):
            raise refuse("a lookup needs either asOf or snapshot", "asOf: 2025-06-01T00:00:00Z")
        return self


def _time_of_day(value: object) -> time:
    if isinstance(value, time):
        return value
    match = re.fullmatch(r"([01][0-9]|2[0-3]):([0-5][0-9])", value) if isinstance(value, str) else None
    if match is None:
        raise refuse("this is not a time of day", 'hours and minutes in quotes: "22:00"')
    return time(int(match[1]), int(match[2]))


def _time_zone(text: str) -> str:
    try:
        ZoneInfo(text)
    except (ValueError, OSError, ZoneInfoNotFoundError):
        raise refuse("this machine has no such time zone", "a name of the IANA database: Europe/Berlin") from None
    return text


TimeOfDay = Annotated[
    time,
    BeforeValidator(_time_of_day),
    PlainSerializer(lambda at: f"{at:%H:%M}", return_type=str),
    WithJsonSchema({"type": "string", "pattern": "^([01][0-9]|2[0-3]):[0-5][0-9]$"}),
]
Weekday = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
WEEKDAYS: tuple[Weekday, ...] = get_args(Weekday)


class Hours(Part):
    """The hours of the day in which slices may begin. Those that end before they start end on the next day."""

    start: TimeOfDay = Field(alias="from", description="From this time of day.", examples=["22:00"])
    end: TimeOfDay = Field(alias="to", description="Until this time of day, exclusive.", examples=["06:00"])
    time_zone: Annotated[str, AfterValidator(_time_zone)] = Field(
        description="Time zone of both, by its name in the IANA database.", examples=["Europe/Berlin"]
    )
    days: Annotated[tuple[Weekday, ...], Field(min_length=1)] = Field(
        default=WEEKDAYS, description="Days on which the hours start; every day if left out.", examples=[["sat", "sun"]]
    )

    @model_validator(mode="after")
    def _open(self) -> Hours:
        if self.start == self.end:
            raise refuse("from and to are the same time", "two different times, or no hours", "to")
        return self


class Schedule(Part):
    """When the backfill may run, and what happens when it misses its deadline."""

    start_after: Moment | None = Field(
        default=None, description="No read from Kafka before this moment.", examples=["2025-07-01T20:00:00Z"]
    )
    deadline: Moment | None = Field(
        default=None, description="The moment by which the run must be promoted.", examples=["2025-07-02T04:00:00Z"]
    )
    hours: Hours | None = Field(
        default=None,
        description="Hours of the day outside which no slice begins; the run waits and continues automatically.",
        examples=[{"from": "22:00", "to": "06:00", "timeZone": "Europe/Berlin"}],
    )
    on_miss: Literal["pause", "retry", "scaleOut", "rollback"] = Field(
        default="pause", description="What to do when the deadline has passed."
    )

    @model_validator(mode="after")
    def _forward(self) -> Schedule:
        if self.start_after is not None and self.deadline is not None and self.start_after >= self.deadline:
            raise refuse("deadline must be later than startAfter", "a later deadline", "deadline")
        return self


class Budget(Part):
    """The backfill's limits."""

    bytes_per_second: Size | None = Field(
        default=None, description="Maximum bytes per second read from Kafka.", examples=["20MiB"]
    )
    cost: Annotated[float, Strict(), Field(gt=0)] | None = Field(
        default=None, description="Maximum cost, in the price book's currency.", examples=[25.0]
    )
    windows_per_batch: Positive | None = Field(
        default=None,
        description="Maximum windows that one batch of a stream-faithful replay closes; 1000 if left out.",
        examples=[1000],
    )


class RetentionTerms(Part):
    """What the replay may change of the topic's retention, so that it is not overtaken by it."""

    extend_up_to: Duration = Field(
        description="The longest `retention.ms` that the replay may set on the topic. It is set only if the race "
        "against retention is lost otherwise, and the former value is restored when the replay ends.",
        examples=["7d"],
    )


class Ungoverned(Part):
    """A replay that does not yield to live."""

    off: Words = Field(
        description="Why the replay is not slowed down while live is pressed; recorded with the run.",
        examples=["Live is down for maintenance until 06:00"],
    )


class RollbackTerms(Part):
    """Who may roll back the promotion, and for how long."""

    authority: Words = Field(
        description="Who may roll back, besides those in roles.rollback of the context: a name as in ANABRANCH_ACTOR "
        "or the login. Any other user needs --override --reason.",
        examples=["shop-oncall@example.com"],
    )
    horizon: Duration = Field(
        default="7d",
        validate_default=True,
        description="For how long after a promotion a rollback is guaranteed: `close` is refused until then; 7d if "
        "left out.",
        examples=["7d"],
    )


class BackfillSpec(Part):
    pipeline: Name = Field(description="The pipeline whose history is replayed.", examples=["orders"])
    range: Range = Field(description="Which part of history.", examples=[{"everything": True}])
    partitions: Annotated[tuple[Whole, ...], AfterValidator(_distinct), Field(min_length=1)] | None = Field(
        default=None, description="Only these partitions of the topic; all of them if left out.", examples=[[0, 1]]
    )
    strategy: WantedStrategy | None = Field(
        default=None,
        description="How windows are replayed (class windowed). batch-exact, the default, computes each window from "
        "all of "
        "its events, late ones included. stream-faithful repeats live's batches from one of its checkpoints and "
        "drops the "
        "events that live dropped.",
    )
    live: Literal["none"] | None = Field(
        default=None,
        description="`none`: no live writer commits to the target, now or until promotion; the topic is read to its "
        "end, and promotion is refused if another writer has committed. Required for a table whose snapshots record no "
        "offsets. If left out, the replay ends at the offsets that live's commits record.",
        examples=["none"],
    )
    reason: Words = Field(
        description="Why the backfill is run; stored with the run and in the audit log.",
        examples=["Wrong currency rate"],
    )
    owner: Words = Field(description="Who is responsible for the backfill.", examples=["shop-data@example.com"])
    expect: Expectation | None = Field(
        default=None, description="How many rows the range should hold afterwards.", examples=[{"rows": 250000}]
    )
    validation: Validation = Field(
        default=Validation(),
        description="Checks that must pass before promotion.",
        examples=[{"notNull": ["order_id"]}],
    )
    control: Control | None = Field(
        default=None,
        description="Also replay the code that wrote production, to separate the fix from differences that existed "
        "before.",
        examples=[{"code": "live"}],
    )
    lookups: Annotated[Mapping[str, LookupAsOf], Field(min_length=1)] | None = Field(
        default=None,
        description="Which snapshots of the pipeline's lookup tables to read, by lookup name.",
        examples=[{"rates": {"asOf": "2025-06-01T00:00:00Z"}}],
    )
    schedule: Schedule | None = Field(
        default=None, description="When the backfill may run.", examples=[{"deadline": "2025-07-02T04:00:00Z"}]
    )
    budget: Budget | None = Field(
        default=None, description="Limits on rate and cost.", examples=[{"bytesPerSecond": "20MiB"}]
    )
    retention: RetentionTerms | None = Field(
        default=None,
        description="Whether the replay may extend the topic's retention while it reads; not if left out.",
        examples=[{"extendUpTo": "7d"}],
    )
    governor: Ungoverned | None = Field(
        default=None,
        description="Switches off the governor, which slows the replay down while live is pressed. The plan shows it, "
        "and the capacity gate asks for an acknowledgement.",
        examples=[{"off": "Live is down for maintenance until 06:00"}],
    )
    rollback: RollbackTerms = Field(
        description="Who may roll it back, and for how long.", examples=[{"authority": "shop-oncall@example.com"}]
    )

    @property
    def byte_rate(self) -> int | None:
        """Bytes per second that may be read from Kafka; None: no limit."""
        return None if self.budget is None else self.budget.bytes_per_second

    @property
    def cost_limit(self) -> float | None:
        """In the price book's currency; None: no limit."""
        return None if self.budget is None else self.budget.cost

    @model_validator(mode="after")
    def _consistent(self) -> BackfillSpec:
        problems = list(self._partition_problems())
        if problems:
            raise refusal(*problems)
        return self

    def _partition_problems(self) -> Iterator[Problem]:
        if self.partitions is not None and self.range.offsets is not None:
            yield Problem("partitions and range.offsets both select partitions", "no partitions", ("partitions",))


class Backfill(Envelope):
    """The contract of one backfill, written before it is planned."""

    kind: Literal["Backfill"] = Field(description="What this file is.")
    spec: BackfillSpec = Field(description="The contract itself.", examples=[{"pipeline": "orders"}])
