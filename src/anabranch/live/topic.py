"""Holds live to one topic: the one whose offsets its checkpoint has."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from anabranch.adapters.embedded.state import write_document
from anabranch.adapters.kafka.topics import Topic, describe_topic
from anabranch.live.errors import CONTINUES, TopicRecreatedError


def same_topic(client: Mapping[str, str], name: str, remembered: Path) -> Topic:
    """The topic as it is now, which must be the one live began with. Remembered the first time.

    A topic deleted and made again has the same name and other records at the same offsets; Spark reads them
    without a word.
    """
    topic = describe_topic(client, name)
    try:
        known = json.loads(remembered.read_text(encoding="utf-8"))
    except FileNotFoundError:
        write_document(remembered, {"name": topic.name, "uuid": topic.uuid})
        return topic
    if (known["name"], known["uuid"]) != (topic.name, topic.uuid):
        raise recreated(name, known["uuid"], topic.uuid, remembered.parent)
    return topic


def recreated(name: str, began_with: str, now: str, folder: Path) -> TopicRecreatedError:
    return TopicRecreatedError(
        f"The topic {name} is not the one live began with: it was deleted and made again, or is another cluster's.",
        state=CONTINUES,
        hint=f"if its records are to be read from their beginning into the same table, remove {folder}; "
        "the rows of the former topic stay",
        began_with=began_with,
        now=now,
    )
