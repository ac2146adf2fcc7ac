"""Checks that live reads the topic to which its checkpoint's offsets belong."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from anabranch.adapters.embedded.state import write_document
from anabranch.adapters.kafka.topics import Topic, describe_topic
from anabranch.live.errors import CONTINUES, TopicRecreatedError


def same_topic(client: Mapping[str, str], name: str, record: Path) -> Topic:
    """Describe the topic, and raise TopicRecreatedError unless it is the one live started with (recorded first time).

    A recreated topic has the same name and other records at the same offsets. Spark reads them without an error.
    """
    topic = describe_topic(client, name)
    try:
        started_with = json.loads(record.read_text(encoding="utf-8"))
    except FileNotFoundError:
        write_document(record, {"name": topic.name, "uuid": topic.uuid})
        return topic
    if (started_with["name"], started_with["uuid"]) != (topic.name, topic.uuid):
        raise recreated(name, started_with["uuid"], topic.uuid, record.parent)
    return topic


def recreated(name: str, started_with: str, now: str, folder: Path) -> TopicRecreatedError:
    return TopicRecreatedError(
        f"Topic {name} is not the one with which live started: it was recreated, or it is in another cluster.",
        state=CONTINUES,
        hint=f"To read the new topic from its beginning into the same table, remove {folder}; the table keeps "
        "the former topic's rows",
        started_with=started_with,
        now=now,
    )
