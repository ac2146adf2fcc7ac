"""The event-time window of a pipeline of class windowed, and how long live waits for late events."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Literal

from pydantic import Field, model_validator

from anabranch.project.model import Part
from anabranch.project.quantities import Duration
from anabranch.project.refusals import Problem, refusal

LONGEST_IN_GAPS = 24
"""Default maximum length of a session, in gaps: it decides how far beyond its range a replay reads."""


class EventWindow(Part):
    """Which events make up a row. Windows are aligned to 1970-01-01 UTC, as Spark aligns them."""

    kind: Literal["tumbling", "sliding", "session"] = Field(
        description="Consecutive (tumbling), overlapping (sliding), or ended by a gap without events (session)."
    )
    size: Duration | None = Field(default=None, description="Length of a tumbling or sliding window.", examples=["1h"])
    slide: Duration | None = Field(
        default=None, description="Time between the starts of two sliding windows.", examples=["10m"]
    )
    gap: Duration | None = Field(
        default=None, description="Time without an event that ends a session.", examples=["30m"]
    )
    longest: Duration | None = Field(
        default=None,
        description="Maximum length of a session, 24 gaps if left out; a replay that meets a longer one stops.",
        examples=["12h"],
    )
    lateness: Duration = Field(
        description="How long live waits for late events before it writes a window; events after that are dropped.",
        examples=["10m"],
    )

    @model_validator(mode="after")
    def _consistent(self) -> EventWindow:
        problems = list(self._problems())
        if problems:
            raise refusal(*problems)
        return self

    def _problems(self) -> Iterator[Problem]:
        needed = {"tumbling": ("size",), "sliding": ("size", "slide"), "session": ("gap",)}[self.kind]
        allowed = (*needed, "longest") if self.kind == "session" else needed
        for name, value in (("size", "1h"), ("slide", "10m"), ("gap", "30m"), ("longest", "12h")):
            is_set = getattr(self, name) is not None
            if name in needed and not is_set:
                yield Problem(f"a {self.kind} window needs its {name}", f"{name}: {value}", ())
            if is_set and name not in allowed:
                yield Problem(f"a {self.kind} window has no {name}", f"no {name}", (name,))
        if self.size is not None and self.slide is not None and self.slide > self.size:
            yield Problem(
                "slide is longer than size, so events between two windows belong to none",
                "a slide no longer than the size",
                ("slide",),
            )
        if self.gap is not None and self.longest is not None and self.longest < self.gap:
            yield Problem(
                "longest is shorter than gap, and a session is never shorter than its gap",
                "a longer duration",
                ("longest",),
            )

    @property
    def step(self) -> timedelta:
        """Time from the start of one window to the next; for sessions one microsecond, the resolution of event time."""
        return self.slide or self.size or timedelta(microseconds=1)

    @property
    def before(self) -> timedelta:
        """How far before a moment events are needed to know which windows begin at or after it."""
        return self.gap or timedelta()

    @property
    def longest_window(self) -> timedelta:
        """The maximum length of a window."""
        return self.size or self.longest or LONGEST_IN_GAPS * (self.gap or timedelta())
