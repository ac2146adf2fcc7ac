"""The class of a topic, and the retention that its class demands: detect, diagnose, fix and replay. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from fnmatch import fnmatchcase
from types import MappingProxyType

from anabranch.project.quantities import format_duration
from anabranch.project.sections.topic_classes import TopicClasses, TopicClassSettings

DAY, HOUR = timedelta(days=1), timedelta(hours=1)


class TopicClass(str, Enum):
    AUDIT = "audit"
    VIEW_SOURCE = "view-source"
    TELEMETRY = "telemetry"
    COORDINATION = "coordination"
    EXPERIMENT = "experiment"


@dataclass(frozen=True)
class Needs:
    """The time from a mistake to its correction. A record that is deleted earlier can't be replayed."""

    detect: timedelta
    diagnose: timedelta
    fix: timedelta
    replay: timedelta

    @property
    def total(self) -> timedelta:
        return self.detect + self.diagnose + self.fix + self.replay

    def document(self) -> dict[str, str]:
        parts = {name: getattr(self, name) for name in ("detect", "diagnose", "fix", "replay", "total")}
        return {name: format_duration(part) for name, part in parts.items()}


USUAL: Mapping[TopicClass, Needs] = MappingProxyType(
    {
        # Found when the books of a quarter are closed.
        TopicClass.AUDIT: Needs(100 * DAY, 14 * DAY, 21 * DAY, 15 * DAY),
        # Found in a report of the week before.
        TopicClass.VIEW_SOURCE: Needs(14 * DAY, 2 * DAY, 5 * DAY, 2 * DAY),
        # Found on a dashboard the next morning, or not worth it any more.
        TopicClass.TELEMETRY: Needs(DAY, DAY, DAY, 12 * HOUR),
        # Found by a service that gets no answer.
        TopicClass.COORDINATION: Needs(4 * HOUR, 4 * HOUR, 12 * HOUR, 4 * HOUR),
        TopicClass.EXPERIMENT: Needs(8 * HOUR, 8 * HOUR, 6 * HOUR, 2 * HOUR),
    }
)


@dataclass(frozen=True)
class Classified:
    topic_class: TopicClass
    needs: Needs


def classify(topic: str, settings: TopicClasses) -> Classified | None:
    """The class of the most precise pattern that matches; None: no pattern does."""
    fitting = [
        (_written_out(pattern), pattern == topic, found)
        for found in TopicClass
        for pattern in _settings(settings, found).topics
        if fnmatchcase(topic, pattern)
    ]
    if not fitting:
        return None
    topic_class = max(fitting, key=lambda each: each[:2])[2]
    return Classified(topic_class, needs_of(topic_class, settings))


def needs_of(topic_class: TopicClass, settings: TopicClasses) -> Needs:
    """The project's times, and the usual one where it sets none."""
    own, usual = _settings(settings, topic_class), USUAL[topic_class]
    return Needs(
        own.detect or usual.detect, own.diagnose or usual.diagnose, own.fix or usual.fix, own.replay or usual.replay
    )


def _settings(settings: TopicClasses, topic_class: TopicClass) -> TopicClassSettings:
    match topic_class:
        case TopicClass.AUDIT:
            return settings.audit
        case TopicClass.VIEW_SOURCE:
            return settings.view_source
        case TopicClass.TELEMETRY:
            return settings.telemetry
        case TopicClass.COORDINATION:
            return settings.coordination
        case TopicClass.EXPERIMENT:
            return settings.experiment


def _written_out(pattern: str) -> int:
    return sum(character not in "*?" for character in pattern)
