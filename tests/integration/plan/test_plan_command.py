"""`anabranch plan` on a real broker and a real catalog, checked against what a plain consumer reads."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from tests.fixtures.broker import KafkaForTests
from tests.integration.plan.shop import DAY, FOR_EVER, HOUR, JUNE, MINUTE, Event, Shop, every

from anabranch.cli.main import main
from anabranch.plan.plan_file import read_plan_file

pytestmark = pytest.mark.kafka


def planned(shop: Shop, contract: Path, capsys: pytest.CaptureFixture[str], *more: str) -> dict[str, Any]:
    code = main(["plan", "-f", str(contract), "--project", str(shop.folder), "-o", "json", *more])
    printed = capsys.readouterr()
    assert code == 0, printed.err
    document: dict[str, Any] = json.loads(printed.out)
    return document


def ranges(document: dict[str, Any]) -> dict[int, tuple[int, int]]:
    return {int(p): (start, end) for p, [(start, end)] in document["plan"]["source"]["ranges"].items()}


def outside(kafka: KafkaForTests, topic: str, document: dict[str, Any], start: datetime, end: datetime) -> list[Any]:
    """Visible records of the range that the plan leaves out: read and decided with none of the product's code."""
    found, missed = ranges(document), []
    for record in kafka.read_all(topic):
        at = datetime.fromisoformat(json.loads(record.value or b"{}")["ordered_at"])
        first, after = found.get(record.partition, (0, 0))
        if start <= at < end and not first <= record.offset < after:
            missed.append(record)
    return missed


def cautions(document: dict[str, Any]) -> set[str]:
    return {each["code"] for each in document["estimates"]["cautions"]}


def a_good_shop(shop: Shop, days: int = 10) -> Path:
    """Ten days of events every ten minutes, of which live has written all; the contract asks for two of the days."""
    topic = shop.topic(every(10 * MINUTE, JUNE, JUNE + days * DAY))
    shop.pipeline("orders", topic)
    shop.table("orders")
    shop.live("orders", [JUNE + n * DAY for n in range(days)], {0: (0, days * 144)})
    return shop.contract("orders", JUNE + 3 * DAY, JUNE + 5 * DAY)


def test_out_of_order_events_are_all_inside(plan_shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    chance = random.Random(7)
    events = []
    for minute in range(0, 6 * 24 * 60, 3):
        stamped = JUNE + minute * MINUTE - chance.randint(0, 29 * 60) * timedelta(seconds=1)
        events.append(Event(stamped + chance.randint(-1800, 1800) * timedelta(seconds=1), stamped, minute // 3 % 3))
    topic = plan_shop.topic(events, partitions=3)
    plan_shop.pipeline("orders", topic)
    plan_shop.table("orders")
    plan_shop.write("orders", [JUNE])
    start, end = JUNE + 2 * DAY, JUNE + 3 * DAY
    document = planned(plan_shop, plan_shop.contract("orders", start, end, live="none"), capsys)
    assert outside(plan_shop.kafka, topic, document, start, end) == []
    assert document["estimates"]["ends_by"] == {"0": "time", "1": "time", "2": "time"}
    read = sum(after - first for first, after in ranges(document).values())
    assert read < len(events) / 3, "the lookups should have cut most of the topic off"
    assert document["estimates"]["offsets"] == read


def test_transactions_whose_markers_are_newer_than_their_records(
    plan_shop: Shop, capsys: pytest.CaptureFixture[str]
) -> None:
    """The broker's lookup finds the first marker, stamped with the present; a plan that ended there would lose rows."""
    topic = plan_shop.topic([])
    batches = [(every(10 * MINUTE, JUNE + n * HOUR, JUNE + (n + 1) * HOUR), n % 5 != 4) for n in range(60)]
    plan_shop.transactions(topic, batches)
    plan_shop.pipeline("orders", topic)
    plan_shop.table("orders")
    plan_shop.write("orders", [JUNE])
    document = planned(plan_shop, plan_shop.contract("orders", JUNE, JUNE + DAY, live="none"), capsys)
    assert outside(plan_shop.kafka, topic, document, JUNE, JUNE + DAY) == []
    assert document["estimates"]["transactional"] == "seen"
    assert "timestamps-out-of-order" in cautions(document)


def test_a_record_stamped_far_ahead_does_not_end_the_range(plan_shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    events = every(10 * MINUTE, JUNE, JUNE + 3 * DAY)
    events.insert(20, Event(JUNE, JUNE + 100 * DAY))
    topic = plan_shop.topic(events)
    plan_shop.pipeline("orders", topic)
    plan_shop.table("orders")
    plan_shop.write("orders", [JUNE])
    document = planned(plan_shop, plan_shop.contract("orders", JUNE, JUNE + DAY, live="none"), capsys)
    assert outside(plan_shop.kafka, topic, document, JUNE, JUNE + DAY) == []
    assert document["estimates"]["ends_by"] == {"0": "doubt"}


def test_an_open_transaction_is_told(plan_shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    from confluent_kafka import Producer

    topic = plan_shop.topic(every(HOUR, JUNE, JUNE + DAY))
    plan_shop.pipeline("orders", topic)
    plan_shop.table("orders")
    plan_shop.write("orders", [JUNE])
    producer = Producer({"bootstrap.servers": plan_shop.kafka.bootstrap, "transactional.id": topic, "log_level": 0})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topic, **Event.on_time(JUNE).record(0))
    producer.flush(30)
    try:
        document = planned(plan_shop, plan_shop.contract("orders", JUNE, JUNE + DAY, live="none"), capsys)
    finally:
        producer.abort_transaction(30)
    assert ranges(document) == {0: (0, 24)}
    assert document["estimates"]["transactional"] == "seen"
    assert "open-transaction" in cautions(document)


def test_a_compacted_topic_is_planned_with_a_caution(plan_shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    events = [Event.on_time(JUNE + n * HOUR, key=f"k{n % 3}") for n in range(24)]
    topic = plan_shop.topic(events, config={"cleanup.policy": "compact"})
    plan_shop.pipeline("orders", topic)
    plan_shop.table("orders")
    plan_shop.write("orders", [JUNE])
    document = planned(plan_shop, plan_shop.contract("orders", JUNE, JUNE + DAY, live="none"), capsys)
    assert document["plan"]["source"]["compacted"] is True
    assert "compacted" in cautions(document)
    assert document["estimates"]["headroom_seconds"] is None, "compaction alone deletes nothing by age"


def test_headroom_is_what_retention_leaves(plan_shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    today = datetime.now(timezone.utc).replace(hour=0, minute=0, second=0, microsecond=0)
    week = {"retention.ms": str(7 * DAY // timedelta(milliseconds=1))}
    topic = plan_shop.topic(every(HOUR, today - 5 * DAY, today - 3 * DAY), config=week)
    plan_shop.pipeline("orders", topic)
    plan_shop.table("orders")
    plan_shop.write("orders", [today - 5 * DAY])
    document = planned(plan_shop, plan_shop.contract("orders", today - 5 * DAY, today - 4 * DAY, live="none"), capsys)
    assert DAY.total_seconds() < document["estimates"]["headroom_seconds"] <= 2 * DAY.total_seconds()
    assert document["estimates"]["topic"]["retention_ms"] == 7 * DAY // timedelta(milliseconds=1)
    assert "retention-near" not in cautions(document)


def test_live_s_position_caps_the_end(plan_shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    topic = plan_shop.topic([*every(HOUR, JUNE, JUNE + DAY), *every(HOUR, JUNE, JUNE + DAY, 1)], partitions=3)
    plan_shop.pipeline("orders", topic)
    plan_shop.table("orders")
    plan_shop.live("orders", [JUNE], {0: (0, 10), 1: (0, 4)})
    plan_shop.live("orders", [JUNE], {0: (10, 12)})
    document = planned(plan_shop, plan_shop.contract("orders", JUNE, JUNE + DAY), capsys)
    assert ranges(document) == {0: (0, 12), 1: (0, 4)}
    assert document["plan"]["source"]["live"] == {"0": 12, "1": 4, "2": 0}
    assert document["estimates"]["ends_by"] == {"0": "live", "1": "live"}


def test_the_same_plan_twice_has_one_hash_and_other_code_has_another(
    plan_shop: Shop, capsys: pytest.CaptureFixture[str]
) -> None:
    contract = a_good_shop(plan_shop)
    first = planned(plan_shop, contract, capsys)
    assert planned(plan_shop, contract, capsys)["hash"] == first["hash"]
    assert planned(plan_shop, contract, capsys, "--slice-size", "50")["hash"] != first["hash"]
    transform = plan_shop.folder / "transforms" / "orders.py"
    transform.write_text(transform.read_text() + "# another rate\n")
    changed = planned(plan_shop, contract, capsys)
    assert changed["hash"] != first["hash"]
    assert changed["plan"]["code"] != first["plan"]["code"]


def test_the_plan_counts_what_it_takes_out_and_cuts_slices(plan_shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    document = planned(plan_shop, a_good_shop(plan_shop), capsys, "--slice-size", "100")
    target, [(start, end)] = document["plan"]["target"], ranges(document).values()
    assert (target["files"], target["rows"]) == (2, 2)
    assert (start, end) == (3 * 144 - 3, 5 * 144 + 6)
    assert [each["offsets"]["0"][1] - each["offsets"]["0"][0] for each in document["plan"]["slices"]] == [99, 99, 99]
    assert document["estimates"]["bytes"] > 0
    assert document["target"]["capabilities"]["readers_see"] == "snapshot"
    assert [each["step"] for each in document["steps"]][:5] == [
        "lease-range",
        "gates",
        "isolation",
        "staging",
        "slice",
    ]
    assert cautions(document) == set()


def test_a_plan_for_people(plan_shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    a_good_shop(plan_shop)
    contract = plan_shop.contract("orders", JUNE + 3 * DAY + HOUR, JUNE + 5 * DAY)
    assert main(["plan", "-f", str(contract), "--project", str(plan_shop.folder)]) == 0
    printed = capsys.readouterr()
    assert "shop.orders is replaced from 2025-06-04T00:00:00Z to 2025-06-06T00:00:00Z" in printed.out
    assert "requested: 2025-06-04T01:00:00Z" in printed.out
    assert "a file holds one day of ordered_at" in printed.out
    assert "429" in printed.out
    assert "promote to shop.orders in one commit: 2 files removed" in printed.out
    assert "one atomic commit; no data file is rewritten" in printed.out
    assert "set for user ANONYMOUS, client-id anabranch-replay-RUN while a limit applies" in printed.out
    assert f"anabranch apply -f {contract}" in printed.err


def test_a_plan_file_holds_the_plan_and_its_contract(plan_shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    contract, out = a_good_shop(plan_shop), plan_shop.folder / "plan.json"
    document = planned(plan_shop, contract, capsys, "--out", str(out))
    # By the last rehearsal, the prices of the day and the brokers as they are now, so no part of the plan.
    prospect = {"schedule", "cost", "target", "quota"}
    assert json.loads(out.read_text()) == {key: value for key, value in document.items() if key not in prospect}
    found = read_plan_file(out)
    assert found.plan.hash == document["hash"]
    assert found.contract == document["contract"]


def test_no_jvm_no_group_nothing_touched(plan_shop: Shop) -> None:
    contract = a_good_shop(plan_shop)
    before = plan_shop.fingerprint()
    script = (
        "import sys; from anabranch.cli.main import main; code = main(sys.argv[1:]); "
        "loaded = sorted({'pyspark', 'py4j', 'jgo'} & set(sys.modules)); print(code, loaded, file=sys.stderr)"
    )
    command = [sys.executable, "-c", script, "plan", "-f", str(contract), "--project", str(plan_shop.folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert done.stderr.splitlines()[-1] == "0 []"
    assert plan_shop.fingerprint() == before


def test_a_topic_stamped_by_the_broker(plan_shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    now = datetime.now(timezone.utc)
    config = {**FOR_EVER, "message.timestamp.type": "LogAppendTime"}
    topic = plan_shop.topic([Event.on_time(now - n * MINUTE) for n in range(20)], config=config)
    plan_shop.pipeline("orders", topic)
    plan_shop.table("orders")
    plan_shop.write("orders", [now])
    document = planned(plan_shop, plan_shop.contract("orders", now - HOUR, now, live="none"), capsys)
    assert outside(plan_shop.kafka, topic, document, now - HOUR, now) == []
    assert document["estimates"]["topic"]["timestamps"] == "LogAppendTime"
