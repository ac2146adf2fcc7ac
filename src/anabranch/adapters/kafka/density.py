"""How many records a topic holds in how much time, by two lookups: nothing is read."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from anabranch.adapters.kafka.topics import Topic, list_offsets, offset_ranges
from anabranch.contract.partitioning import Density


def density_of(client: Mapping[str, str], topic: Topic) -> Density | None:
    """By the timestamps of its first and its newest record; None while it has no records."""
    from confluent_kafka.admin import OffsetSpec

    first = list_offsets(client, topic, OffsetSpec.for_timestamp(0))
    newest = list_offsets(client, topic, OffsetSpec.max_timestamp())
    starts = [place.timestamp for place in first.values() if place.offset >= 0]
    ends = [place.timestamp for place in newest.values() if place.offset >= 0]
    if not starts or not ends:
        return None
    records = sum(end - start for start, end in offset_ranges(client, topic).values())
    return Density(records, timedelta(milliseconds=max(0, max(ends) - min(starts))))
