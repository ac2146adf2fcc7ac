"""`anabranch retention audit` on a real cluster of two hundred topics, beside what plain clients say."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec
from tests.fixtures.broker import QUIET, KafkaForTests, eventually

from anabranch.cli.main import main
from anabranch.project.scaffold import plan_project, write_project

pytestmark = pytest.mark.kafka
DAY_MS = 86_400_000
MANY = 200


@pytest.fixture
def project(tmp_path: Path, kafka: KafkaForTests) -> Path:
    folder = tmp_path / "shop"
    write_project(plan_project(folder, "shop"))
    file = folder / "anabranch.yaml"
    text = file.read_text().replace("bootstrap: embedded", f"bootstrap: {kafka.bootstrap}", 1)
    file.write_text(text.replace("topics: [shop.*]", 'topics: ["audit-*"]\n      detect: 3d\n      fix: 3d'))
    return folder


def audit(
    project: Path, capsys: pytest.CaptureFixture[str], *topics: str, code: int = 0
) -> tuple[dict[str, Any], Mapping[str, Mapping[str, Any]]]:
    assert main(["retention", "audit", *topics, "--project", str(project), "-o", "json"]) == code
    document = json.loads(capsys.readouterr().out)
    return document, {each["topic"]: each for each in document["topics"]}


def stamped(days_ago: float, **more: Any) -> dict[str, Any]:
    at = datetime.now(timezone.utc) - timedelta(days=days_ago)
    return {"value": b"x" * 1000, "timestamp": round(at.timestamp() * 1000), **more}


def test_how_far_back_how_long_and_which_colour(
    project: Path, kafka: KafkaForTests, capsys: pytest.CaptureFixture[str]
) -> None:
    """The class demands ten days here: three and three, and the usual two and two."""
    week, short, sized, lost, loose = (
        kafka.unique_name(name) for name in ("audit-w", "audit-s", "audit-b", "audit-l", "x")
    )
    kafka.create_topic(week, 2, {"retention.ms": str(14 * DAY_MS)})
    kafka.create_topic(short, 1, {"retention.ms": str(9 * DAY_MS)})
    kafka.create_topic(sized, 1, {"retention.ms": "-1", "retention.bytes": "20000"})
    kafka.create_topic(lost, 1, {"retention.ms": "-1"})
    kafka.create_topic(loose)
    kafka.produce(week, [stamped(3, partition=0), stamped(2, partition=1)])
    kafka.produce(short, [stamped(5)])
    kafka.produce(sized, [stamped(0.1) for _ in range(100)])
    kafka.produce(lost, [stamped(days) for days in (6, 5, 4, 3)])
    kafka.produce(loose, [stamped(1)])
    client = AdminClient({"bootstrap.servers": kafka.bootstrap, **QUIET})
    [gone] = client.delete_records([TopicPartition(lost, 0, 2)], request_timeout=30).values()
    gone.result(30)

    document, found = audit(project, capsys, week, short, sized, lost, loose, code=3)

    assert {name: each["colour"] for name, each in found.items()} == {
        week: "green",
        short: "red",
        sized: "red",
        lost: "yellow",
        loose: "yellow",
    }
    assert document["colour"] == "red"
    assert found[week]["replay_from"]["beginning"] is True
    assert found[week]["replay_from"]["offsets"] == {"0": [0, 1], "1": [0, 1]}
    assert found[week]["kept"]["seconds"] == 14 * 86400
    assert found[week]["demanded"]["total"] == "10d"
    assert found[short]["to_green"].endswith(f"--entity-name {short} --add-config retention.ms={13 * DAY_MS}")
    # A thousand bytes and what Kafka adds to a record, in a log five days old, for four days more.
    assert 4 * 1000 / 5 < found[short]["more_bytes"] < 4 * 1200 / 5
    assert found[sized]["kept"]["by"] == "size"
    assert found[lost]["replay_from"]["offsets"] == {"0": [2, 4]}
    assert found[lost]["replay_from"]["seconds_back"] == pytest.approx(4 * 86400, abs=3600)
    assert found[loose]["class"] is None
    assert loose in found[loose]["to_green"]


def test_a_topic_that_is_not_there_is_told(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document, found = audit(project, capsys, "no-such-topic", code=3)
    assert (document["missing"], found) == (["no-such-topic"], {})


def test_two_hundred_topics_at_once(project: Path, kafka: KafkaForTests, capsys: pytest.CaptureFixture[str]) -> None:
    client = AdminClient({"bootstrap.servers": kafka.bootstrap, **QUIET})
    many = [kafka.unique_name("audit-many") for _ in range(MANY)]
    for made in client.create_topics([NewTopic(name, 1, config={"retention.ms": "-1"}) for name in many]).values():
        made.result(60)

    def ready() -> bool:
        asked = {TopicPartition(name, 0): OffsetSpec.latest() for name in many}
        return all(each.exception() is None for each in client.list_offsets(asked, request_timeout=30).values())

    eventually(ready)
    assert main(["retention", "audit", "--project", str(project), "-o", "json"]) in (0, 3)
    found = {each["topic"]: each for each in json.loads(capsys.readouterr().out)["topics"]}
    assert {name: found[name]["colour"] for name in many} == dict.fromkeys(many, "green")
    assert not any(name.startswith("__") for name in found), "Kafka's own topics are Kafka's own business"
    assert main(["retention", "audit", "--project", str(project)]) in (0, 3)
    printed = capsys.readouterr().out
    assert f"✓  {many[0]} " in printed
