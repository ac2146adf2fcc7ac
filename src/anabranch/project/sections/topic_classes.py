"""The `topicClasses` section: the class of each topic, which decides its minimum retention."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated

from pydantic import AfterValidator, Field, model_validator

from anabranch.project.model import Part
from anabranch.project.quantities import Duration
from anabranch.project.refusals import Problem, refusal

_PATTERN = re.compile(r"[A-Za-z0-9._*?-]{1,249}")


def _patterns(texts: tuple[str, ...]) -> tuple[str, ...]:
    problems = [
        Problem("this is not a topic name or pattern", "letters, digits, dots, hyphens, * and ?: shop.*", (index,))
        for index, text in enumerate(texts)
        if not _PATTERN.fullmatch(text)
    ]
    if problems:
        raise refusal(*problems)
    return texts


class TopicClassSettings(Part):
    """The topics of one class, and durations that override the defaults of the class."""

    topics: Annotated[tuple[str, ...], AfterValidator(_patterns)] = Field(
        default=(), description="Topic names, or patterns with * and ?.", examples=[["shop.*"]]
    )
    detect: Duration | None = Field(
        default=None, description="Maximum time until a mistake is detected.", examples=["14d"]
    )
    diagnose: Duration | None = Field(default=None, description="Maximum time to find the cause.", examples=["2d"])
    fix: Duration | None = Field(default=None, description="Maximum time to fix the code.", examples=["5d"])
    replay: Duration | None = Field(
        default=None, description="Maximum time for the replay and its validation.", examples=["2d"]
    )


class TopicClasses(Part):
    """The class of each topic. The most specific pattern wins; a full name is the most specific."""

    audit: TopicClassSettings = Field(
        default=TopicClassSettings(),
        description="Events that must be provable one by one.",
        examples=[{"topics": ["bank.*"]}],
    )
    view_source: TopicClassSettings = Field(
        default=TopicClassSettings(),
        alias="view-source",
        description="Sources of tables and views.",
        examples=[{"topics": ["shop.*"]}],
    )
    telemetry: TopicClassSettings = Field(
        default=TopicClassSettings(),
        description="Measurements, where single records don't matter.",
        examples=[{"topics": ["metrics.*"]}],
    )
    coordination: TopicClassSettings = Field(
        default=TopicClassSettings(),
        description="Short-lived commands and signals between services.",
        examples=[{"topics": ["*.commands"]}],
    )
    experiment: TopicClassSettings = Field(
        default=TopicClassSettings(), description="Topics without dependents.", examples=[{"topics": ["sandbox.*"]}]
    )

    @model_validator(mode="after")
    def _once(self) -> TopicClasses:
        problems = list(self._twice())
        if problems:
            raise refusal(*problems)
        return self

    def _twice(self) -> Iterator[Problem]:
        seen: dict[str, str] = {}
        for field, info in type(self).model_fields.items():
            name = info.alias or field
            for index, pattern in enumerate(getattr(self, field).topics):
                if pattern in seen:
                    yield Problem(
                        f"class {seen[pattern]} lists the same pattern", "each pattern once", (name, "topics", index)
                    )
                seen.setdefault(pattern, name)
