"""Whether each topic's retention meets the demand of its class, and what raising it would take. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil
from typing import Any

from anabranch.contract.pipeline import PipelineClass, PipelineSpec
from anabranch.gates.colour import Colour, worst
from anabranch.project.quantities import roughly
from anabranch.project.sections.topic_classes import TopicClasses
from anabranch.readiness.topic_classes import Classified, TopicClass, classify
from anabranch.readiness.topic_retention import (
    Keeping,
    KeptTopic,
    Limit,
    Promise,
    growth,
    oldest,
    promise,
    replay_reach,
)
from anabranch.runs.canonical import instant_text

WATCHED = timedelta(days=7)
"""Growth is measured over a week: over one day it would depend on which day that is."""
SPARE = {Limit.TIME: 1.25, Limit.COMPACTION: 1.25, Limit.SIZE: 2.0}
"""How many times the demand of its class is comfortable. Twice where size is the limit: more traffic shortens it."""


@dataclass(frozen=True)
class TopicVerdict:
    """One topic, judged."""

    topic: KeptTopic
    classified: Classified | None
    promise: Promise | None
    """None: unknown."""
    colour: Colour
    words: str
    to_green: str
    """The action that turns it green; empty if it is."""
    more_bytes: int | None = None
    """The additional bytes on all replicas after `to_green`, at the present growth; None: unknown, or no change."""

    @property
    def reach(self) -> timedelta | None:
        return replay_reach(self.topic)

    @property
    def oldest(self) -> datetime | None:
        return oldest(self.topic)

    def document(self) -> dict[str, Any]:
        topic, rate = self.topic, growth(self.topic)
        known = self.promise is not None
        return {
            "topic": topic.name,
            "uuid": topic.uuid,
            "class": None if self.classified is None else self.classified.topic_class.value,
            "colour": self.colour.value,
            "words": self.words,
            "to_green": self.to_green,
            "demanded": None if self.classified is None else self.classified.needs.document(),
            "replay_from": {
                "beginning": topic.partitions is not None and self.reach is None,
                "oldest": None if self.oldest is None else instant_text(self.oldest),
                "seconds_back": None if self.reach is None else self.reach.total_seconds(),
                "offsets": {
                    str(p): [each.earliest, each.latest] for p, each in sorted((topic.partitions or {}).items())
                },
            },
            "kept": {
                "known": known,
                "for_ever": self.promise is not None and self.promise.kept is None,
                "seconds": None if not self.promise or not self.promise.kept else self.promise.kept.total_seconds(),
                "by": None if not self.promise or self.promise.by is None else self.promise.by.value,
            },
            "bytes_per_day": None if rate is None else round(rate * 86400),
            "replicas": topic.replicas,
            "more_bytes": self.more_bytes,
        }


def judge_retention(topic: KeptTopic, classified: Classified | None, readers: Iterable[PipelineClass]) -> TopicVerdict:
    """`readers` are the classes of the project's pipelines that read the topic."""
    read_by = set(readers)
    if topic.partitions is None or topic.keeping is None:
        what = "offsets" if topic.partitions is None else "settings"
        to_green = f"let this user describe {topic.name} and its configuration (ACL: Describe, DescribeConfigs)"
        return TopicVerdict(topic, classified, None, Colour.RED, f"its {what} can't be read", to_green)
    if classified is None:
        found = promise(topic, topic.keeping, every_event=read_by != {"upsert"})
        meant = TopicClass.VIEW_SOURCE.value if read_by else "/".join(each.value for each in TopicClass)
        to_green = f"set in spec.topicClasses of anabranch.yaml: {meant}: {{topics: [{topic.name}]}}"
        return TopicVerdict(topic, None, found, Colour.YELLOW, "it has no class", to_green)
    # Only a view of the last value by key can be rebuilt without the events that compaction has removed.
    every_event = classified.topic_class is TopicClass.AUDIT or bool(read_by - {"upsert"})
    found = promise(topic, topic.keeping, every_event=every_event)
    unsure = "compact" in topic.keeping.cleanup and not every_event and not read_by
    return _judge_classified(topic, classified, found, topic.keeping, unsure=unsure)


def _judge_classified(
    topic: KeptTopic, classified: Classified, found: Promise, keeping: Keeping, *, unsure: bool
) -> TopicVerdict:
    needs, back = classified.needs.total, replay_reach(topic)
    demand = f"{classified.topic_class.value} demands {roughly(needs)}"

    def verdict(colour: Colour, words: str, to_green: str = "", more: int | None = None) -> TopicVerdict:
        return TopicVerdict(topic, classified, found, colour, words, to_green, more)

    scarce = {limit: kept for limit, kept in found.limits.items() if kept < needs * SPARE[limit]}
    if scarce:
        tightest = min(scarce, key=lambda limit: scarce[limit] / SPARE[limit])
        change, more = _change(topic, keeping, scarce, needs)
        kept = f"retained for {roughly(scarce[tightest])} by {tightest.value}, and {demand}"
        if min(scarce.values()) < needs:
            return verdict(
                Colour.RED, f"{kept}: records may be deleted before a mistake in them is corrected", change, more
            )
        return verdict(Colour.YELLOW, f"{kept}: {(scarce[tightest] / needs - 1):.0%} to spare", change, more)
    if back is not None and back < needs:
        whole = instant_text(topic.now + needs - back)[:10]
        words = f"the settings suffice, but today a replay reaches back only {roughly(back)}, and {demand}"
        return verdict(Colour.YELLOW, words, f"wait until {whole}: a replay then reaches back far enough")
    if unsure:
        words = "compacted: a view of the last value by key can be rebuilt, a view of every event can't"
        return verdict(Colour.YELLOW, words, "read it with a pipeline of class upsert, or raise min.compaction.lag.ms")
    kept = "retained for ever" if found.kept is None else f"retained for {roughly(found.kept)}"
    return verdict(Colour.GREEN, f"{kept}, and {demand}")


def _change(
    topic: KeptTopic, keeping: Keeping, scarce: Mapping[Limit, timedelta], needs: timedelta
) -> tuple[str, int | None]:
    """The command that raises every limit that is too low, and the additional bytes."""
    days = {limit: timedelta(days=ceil(needs * SPARE[limit] / timedelta(days=1))) for limit in scarce}
    settings = []
    for limit, kept in scarce.items():
        milliseconds = days[limit] // timedelta(milliseconds=1)
        match limit:
            case Limit.TIME:
                settings.append(f"retention.ms={milliseconds}")
            case Limit.COMPACTION:
                settings.append(f"min.compaction.lag.ms={milliseconds}")
            case Limit.SIZE:
                settings.append(f"retention.bytes={ceil((keeping.retention_bytes or 0) * (days[limit] / kept))}")
    command = (
        f"kafka-configs.sh --bootstrap-server … --alter --entity-type topics --entity-name {topic.name} "
        f"--add-config {','.join(settings)}"
    )
    rate, longer = growth(topic), min(days.values()) - min(scarce.values())
    return command, None if rate is None else ceil(rate * longer.total_seconds() * topic.replicas)


@dataclass(frozen=True)
class RetentionAudit:
    at: datetime
    topics: tuple[TopicVerdict, ...]
    """The worst first, then by name."""

    @property
    def colour(self) -> Colour:
        return worst(each.colour for each in self.topics)

    def document(self) -> dict[str, Any]:
        return {
            "at": instant_text(self.at),
            "colour": self.colour.value,
            "count": {colour.value: sum(each.colour is colour for each in self.topics) for colour in Colour},
            "topics": [each.document() for each in self.topics],
        }


def audit_topics(
    topics: Iterable[KeptTopic], pipelines: Iterable[PipelineSpec], classes: TopicClasses, at: datetime
) -> RetentionAudit:
    """Each topic by the class that the project gives it and by the pipelines of the project that read it."""
    readers: dict[str, list[PipelineClass]] = {}
    for spec in pipelines:
        readers.setdefault(spec.source.topic, []).append(spec.pipeline_class)
    return audit_of(
        (judge_retention(each, classify(each.name, classes), readers.get(each.name, ())) for each in topics), at
    )


def audit_of(judged: Iterable[TopicVerdict], at: datetime) -> RetentionAudit:
    order = (Colour.RED, Colour.YELLOW, Colour.GREEN)
    return RetentionAudit(at, tuple(sorted(judged, key=lambda each: (order.index(each.colour), each.topic.name))))
