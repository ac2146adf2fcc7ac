"""The range of a contract: the part of history to replay, given in exactly one of five ways."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from anabranch.contract.head_names import HeadName
from anabranch.project.model import Part, Positive, Whole
from anabranch.project.quantities import Moment
from anabranch.project.refusals import Problem, refusal, refuse

WAYS = ("eventTime", "timestamps", "offsets", "sinceSnapshot", "everything")


class TimestampRange(Part):
    """Timestamps of [from, to)."""

    start: Moment = Field(alias="from", description="Start, inclusive.", examples=["2025-06-01T00:00:00Z"])
    end: Moment = Field(alias="to", description="End, exclusive.", examples=["2025-06-08T00:00:00Z"])

    @model_validator(mode="after")
    def _forward(self) -> TimestampRange:
        if self.start >= self.end:
            raise refuse("`from` must be before `to`", "a later `to`", "to")
        return self


class EventTimeRange(Part):
    """Event times of [from, to), or from a moment to live's position."""

    start: Moment = Field(alias="from", description="Start, inclusive.", examples=["2025-06-01T00:00:00Z"])
    end: Moment | None = Field(
        default=None,
        alias="to",
        description="End, exclusive; if left out, up to live's position (classes upsert and ordered).",
        examples=["2025-06-08T00:00:00Z"],
    )

    @model_validator(mode="after")
    def _forward(self) -> EventTimeRange:
        if self.end is not None and self.start >= self.end:
            raise refuse("`from` must be before `to`", "a later `to`", "to")
        return self


class OffsetSpan(Part):
    """Offsets of [from, to)."""

    start: Whole = Field(alias="from", description="First offset, inclusive.", examples=[0])
    end: Positive = Field(alias="to", description="End offset, exclusive.", examples=[100000])

    @model_validator(mode="after")
    def _forward(self) -> OffsetSpan:
        if self.start >= self.end:
            raise refuse("`from` must be before `to`", "a later `to`", "to")
        return self


def _partition_numbers(spans: Mapping[str, OffsetSpan]) -> Mapping[str, OffsetSpan]:
    wrong = [key for key in spans if not re.fullmatch(r"0|[1-9][0-9]{0,6}", key)]
    if wrong:
        raise refusal(*(Problem("this is not a partition number", "a number from 0", (key,)) for key in wrong))
    return spans


class Range(Part):
    """The part of history to replay."""

    event_time: EventTimeRange | None = Field(
        default=None,
        description="Events by event time.",
        examples=[{"from": "2025-06-01T00:00:00Z"}],
    )
    timestamps: TimestampRange | None = Field(
        default=None,
        description="Records by Kafka's timestamp. Not implemented yet: `plan` refuses it.",
        examples=[{"from": "2025-06-01T00:00:00Z"}],
    )
    offsets: Annotated[Mapping[str, OffsetSpan], AfterValidator(_partition_numbers), Field(min_length=1)] | None = (
        Field(
            default=None,
            description="Offsets by partition number. Not implemented yet: `plan` refuses it.",
            examples=[{"0": {"from": 0, "to": 100000}}],
        )
    )
    since_snapshot: HeadName | None = Field(
        default=None,
        description="All records after this snapshot of the target (classes upsert and ordered).",
        examples=[8345213987412],
    )
    everything: Literal[True] | None = Field(default=None, description="The whole topic.", examples=[True])

    @model_validator(mode="after")
    def _exactly_one(self) -> Range:
        given = [way for way in WAYS if way in self.model_dump(by_alias=True, exclude_none=True)]
        if len(given) != 1:
            raise refuse(
                f"a range has exactly one of its keys, and this one has {len(given)}", f"one of {', '.join(WAYS)}"
            )
        return self
