"""The `topicClasses` section: what each topic is for, which says how long its records must be kept."""

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
        Problem("this is not a topic's name or pattern", "letters, digits, dots, hyphens, * and ?: shop.*", (index,))
        for index, text in enumerate(texts)
        if not _PATTERN.fullmatch(text)
    ]
    if problems:
        raise refusal(*problems)
    return texts


class TopicClassSettings(Part):
    """The topics of one class, and the times that differ from the usual ones of the class."""

    topics: Annotated[tuple[str, ...], AfterValidator(_patterns)] = Field(
        default=(), description="Names of topics, or patterns with * and ?.", examples=[["shop.*"]]
    )
    detect: Duration | None = Field(default=None, description="How long a mistake may go unnoticed.", examples=["14d"])
    diagnose: Duration | None = Field(
        default=None, description="How long it may take to find the cause.", examples=["2d"]
    )
    fix: Duration | None = Field(default=None, description="How long it may take to mend it.", examples=["5d"])
    replay: Duration | None = Field(
        default=None, description="How long the replay may take, with its checks.", examples=["2d"]
    )


class TopicClasses(Part):
    """What the cluster's topics are for. The most precise pattern counts; a name written out is the most precise."""

    audit: TopicClassSettings = Field(
        default=TopicClassSettings(),
        description="What must be provable later, event by event.",
        examples=[{"topics": ["bank.*"]}],
    )
    view_source: TopicClassSettings = Field(
        default=TopicClassSettings(),
        alias="view-source",
        description="What tables and views are made of.",
        examples=[{"topics": ["shop.*"]}],
    )
    telemetry: TopicClassSettings = Field(
        default=TopicClassSettings(),
        description="Measurements, of which single ones don't matter.",
        examples=[{"topics": ["metrics.*"]}],
    )
    coordination: TopicClassSettings = Field(
        default=TopicClassSettings(),
        description="Commands and signals between services, stale soon.",
        examples=[{"topics": ["*.commands"]}],
    )
    experiment: TopicClassSettings = Field(
        default=TopicClassSettings(), description="What nobody relies on.", examples=[{"topics": ["sandbox.*"]}]
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
                    yield Problem(f"{seen[pattern]} has this already", "each once", (name, "topics", index))
                seen.setdefault(pattern, name)
