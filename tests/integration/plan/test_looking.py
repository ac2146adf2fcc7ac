"""Commands that only look make nothing: on a fresh project there is no catalog after them either."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.fixtures.broker import KafkaForTests
from tests.integration.live.shop import shop_project

from anabranch.cli.main import main

pytestmark = pytest.mark.kafka


def test_checkpoints_and_zones_of_a_fresh_project(
    kafka: KafkaForTests, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    topic = kafka.create_topic(kafka.unique_name("fresh"), 2)
    kafka.produce(topic, [b"{}"] * 3)
    shop_project(tmp_path, kafka, topic)
    before = sorted(tmp_path.rglob("*"))

    assert main(["checkpoints", "orders", "--project", str(tmp_path)]) != 0
    told = capsys.readouterr().err
    assert "target.missing" in told
    assert "anabranch live start orders" in told
    assert main(["zones", "show", "orders", "--project", str(tmp_path), "-o", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["table"] == "shop.orders__zones"
    assert sum(each["offsets"] for each in found["partitions"]) == 3
    assert [each["counted"] for each in found["partitions"]] == [0, 0]
    assert sorted(tmp_path.rglob("*")) == before
