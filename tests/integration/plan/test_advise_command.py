"""`anabranch advise` on a real broker and a real catalog: the facts it finds by itself, and what it makes of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka import Consumer, TopicPartition
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField
from tests.fixtures.broker import QUIET
from tests.integration.plan.shop import DAY, HOUR, JUNE, Shop, every

from anabranch.adapters.iceberg import properties as props
from anabranch.app.project_context import open_project
from anabranch.cli.main import main
from anabranch.contract.code import code_digest
from anabranch.contract.load import load_pipelines

pytestmark = pytest.mark.kafka


def advised(shop: Shop, contract: Path, capsys: pytest.CaptureFixture[str], *more: str) -> dict[str, Any]:
    code = main(["advise", "-f", str(contract), "--project", str(shop.folder), "-o", "json", *more])
    printed = capsys.readouterr()
    assert code == 0, printed.err
    document: dict[str, Any] = json.loads(printed.out)
    return document


def option(document: dict[str, Any], way: str) -> dict[str, Any]:
    return next(each for each in document["options"] if each["way"] == way)


def test_advice_follows_what_is_so(plan_shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    shop = plan_shop
    topic = shop.topic(every(HOUR, JUNE, JUNE + 6 * DAY))
    shop.pipeline("orders", topic)
    shop.table("orders")
    # Twenty rows of the two days that the contract asks for, written by code that is not on the disk any more.
    moments = [JUNE + n * 12 * HOUR for n in range(6)] + [JUNE + 3 * DAY + n * HOUR for n in range(20)]
    said = {props.AUTHOR: "live", props.PIPELINE: "orders", props.OFFSETS: props.write_offsets({0: (0, 144)})}
    shop.write("orders", moments, {**said, props.CODE: "a" * 64})
    contract = shop.contract("orders", JUNE + 3 * DAY, JUNE + 5 * DAY, budget={"bytesPerSecond": "1kB"})
    consumer = Consumer({"bootstrap.servers": shop.kafka.bootstrap, "group.id": "billing", **QUIET})
    consumer.commit(offsets=[TopicPartition(topic, 0, 100)], asynchronous=False)
    consumer.close()
    state = shop.fingerprint()

    first = advised(shop, contract, capsys)
    assert first["recommended"] == "backfill"
    assert first["live"] == "not-restarted"
    assert "anabranch live stop orders" in first["first"][0]
    assert first["readers"]["topic"]["groups"] == [{"group": "billing", "members": 0, "lag": 44, "live": False}]
    backfill = option(first, "backfill")
    assert backfill["possible"] is True
    assert backfill["seconds"] > 1, "about sixty records of a hundred bytes at a kilobyte a second"
    assert "billing (44 behind)" in backfill["effect"]
    assert option(first, "compensating-events")["possible"] is False

    tolerated = advised(shop, contract, capsys, "--affected-rows", "1", "--tolerate", "5%")
    assert tolerated["recommended"] == "accept"
    assert "1 of 20 rows (5.00%)" in tolerated["reason"]
    assert shop.fingerprint() == state, "advice changes nothing"

    # Live is restarted by the code on disk: then it has two codes in its history, and the newer is the right one.
    project_context = open_project(shop.folder)
    code = code_digest(shop.folder, load_pipelines(project_context.loaded)["orders"].pipeline)
    shop.write("orders", [JUNE], {**said, props.OFFSETS: props.write_offsets({0: (144, 144)}), props.CODE: code})
    assert advised(shop, contract, capsys)["live"] == "fixed"

    # Retention takes what the contract needs; the lake still has it.
    shop.delete_records(topic, {0: 90})
    lost = advised(shop, contract, capsys)
    assert lost["recommended"] == "accept"
    assert option(lost, "backfill")["possible"] is False
    assert "has lost offsets" in lost["reason"]
    raw = shop.catalog.create_table("shop.raw", Schema(NestedField(1, "n", LongType(), required=False)))
    raw.append(pa.table({"n": pa.array(range(144), pa.int64())}))
    restored = advised(shop, contract, capsys, "--archive", "shop.raw")
    assert restored["recommended"] == "view-refresh"
    assert "shop.raw has the raw records" in restored["reason"]


def test_a_contract_that_is_wrong_is_told_as_such(plan_shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    plan_shop.pipeline("orders", plan_shop.topic(every(HOUR, JUNE, JUNE + DAY)))
    plan_shop.table("orders")
    plan_shop.write("orders", [JUNE])
    contract = plan_shop.contract("orders", JUNE + 30 * DAY, JUNE + 31 * DAY)
    assert main(["advise", "-f", str(contract), "--project", str(plan_shop.folder), "-o", "json"]) == 3
    assert json.loads(capsys.readouterr().err)["error"]["code"] == "plan.empty-range"
    assert main(["advise", "-f", str(contract), "--project", str(plan_shop.folder), "--tolerate", "some"]) == 2
