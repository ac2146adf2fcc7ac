"""The window of a pipeline of class windowed: which events make up a row, and how long late ones are waited for."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Literal

from pydantic import Field, model_validator

from anabranch.project.model import Part
from anabranch.project.quantities import Duration
from anabranch.project.refusals import Problem, refusal

LONGEST_IN_GAPS = 24
"""How many gaps long a session may be if nobody says: it decides how far beyond its range a replay reads."""


class EventWindow(Part):
    """Which events make up a row. Windows are counted from 1970 in UTC, as Spark counts them."""

    kind: Literal["tumbling", "sliding", "session"] = Field(
        description="One after the other (tumbling), overlapping (sliding), or until nothing comes (session)."
    )
    size: Duration | None = Field(
        default=None, description="How long a tumbling or sliding window is.", examples=["1h"]
    )
    slide: Duration | None = Field(
        default=None, description="How far a sliding window is from the next.", examples=["10m"]
    )
    gap: Duration | None = Field(
        default=None, description="How long nothing must come until a session is over.", examples=["30m"]
    )
    longest: Duration | None = Field(
        default=None,
        description="The longest session expected, 24 gaps if left out; a replay that meets a longer one stops.",
        examples=["12h"],
    )
    lateness: Duration = Field(
        description="How long live waits for late events; after that a window is written, and later ones are dropped.",
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
            given = getattr(self, name) is not None
            if name in needed and not given:
                yield Problem(f"a {self.kind} window needs its {name}", f"{name}: {value}", ())
            if given and name not in allowed:
                yield Problem(f"a {self.kind} window has no {name}", f"no {name}", (name,))
        if self.size is not None and self.slide is not None and self.slide > self.size:
            yield Problem("events between two windows would be in none", "a slide no longer than the size", ("slide",))
        if self.gap is not None and self.longest is not None and self.longest < self.gap:
            yield Problem("every session is at least as long as its gap", "a longer one", ("longest",))

    @property
    def step(self) -> timedelta:
        """From the start of one window to the start of the next; of sessions, as finely as moments are written."""
        return self.slide or self.size or timedelta(microseconds=1)

    @property
    def before(self) -> timedelta:
        """How much before a moment must be known to tell which windows begin at it or later."""
        return self.gap or timedelta()

    @property
    def reach(self) -> timedelta:
        """The longest a window may be."""
        return self.size or self.longest or LONGEST_IN_GAPS * (self.gap or timedelta())
