"""Every bad contract in tests/bad_contracts is refused with its reason, by a real broker and catalog, untouched."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.transforms import DayTransform, IdentityTransform
from tests.fixtures.broker import KafkaForTests
from tests.integration.plan.shop import DAY, HOUR, JUNE, Event, Shop, every, partitioned

from anabranch.adapters.iceberg import properties as props
from anabranch.cli.main import main

pytestmark = pytest.mark.kafka

BAD = Path(__file__).parents[2] / "bad_contracts"
FILES = sorted(BAD.glob("*.yaml"))
DAYS = [JUNE + n * DAY for n in range(3)]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, kafka: KafkaForTests) -> Shop:
    """Three days of hourly events in two partitions, and a pipeline for each way in which planning can go wrong."""
    shop = Shop.open(tmp_path_factory.mktemp("bad") / "shop", kafka)
    three_days = [*every(HOUR, JUNE, JUNE + 3 * DAY), *every(HOUR, JUNE, JUNE + 3 * DAY, 1)]
    topic = shop.topic(three_days, partitions=2)
    _good(shop, topic)
    _bad_topics(shop, three_days)
    _bad_tables(shop, topic)
    _bad_live(shop, topic)
    return shop


def _good(shop: Shop, topic: str) -> None:
    for kind in ("upsert", "ordered"):
        target = {"table": f"shop.{kind}", "keys": ["order_id"], "schema": {"order_id": "string"}}
        of_class: dict[str, Any] = {"class": kind, "target": target}
        shop.pipeline(kind, topic, **of_class)
    windowed: dict[str, Any] = {"class": "windowed", "window": {"kind": "tumbling", "size": "1h", "lateness": "10m"}}
    shop.pipeline("windowed", topic, **windowed)
    (shop.folder / "transforms" / "dice.py").write_text("import random\n\ntransform = random.choice\n")
    shop.pipeline("dice", topic, transform={"python": "transforms.dice:transform"})
    shop.pipeline("orders", topic)
    shop.pipeline("bad-keys", topic, target={"table": "shop.bad_keys", "keys": ["order"]})
    for name in ("orders", "bad-keys", "windowed"):
        shop.table(name)
        shop.live(name, DAYS, {0: (0, 72), 1: (0, 72)})
    shop.pipeline("no-live", topic)
    shop.table("no-live")
    shop.write("no-live", DAYS)


def _bad_topics(shop: Shop, events: list[Event]) -> None:
    shop.pipeline("no-topic", "no-such-topic")
    shop.table("no-topic")
    shop.write("no-topic", DAYS)
    for name, gone in {"expired": {0: 30}, "emptied": {1: 72}}.items():
        topic = shop.topic(events, partitions=2)
        shop.delete_records(topic, gone)
        shop.pipeline(name, topic)
        shop.table(name)
        shop.live(name, DAYS, {0: (0, 72), 1: (0, 72)})


def _bad_tables(shop: Shop, topic: str) -> None:
    shop.pipeline("no-table", topic)
    shop.pipeline("no-database", topic, "elsewhere.orders")
    shop.pipeline("empty-table", topic)
    shop.table("empty-table")
    specs = {
        "unpartitioned": PartitionSpec(),
        "by-name": partitioned(1, IdentityTransform(), "order_id"),
        "by-date": partitioned(3, DayTransform(), "day_day"),
        "partitioned-later": PartitionSpec(),
    }
    for name, spec in specs.items():
        shop.pipeline(name, topic)
        shop.table(name, spec)
        shop.write(name, DAYS)
    with shop.catalog.load_table("shop.partitioned_later").update_spec() as update:
        update.add_field("ordered_at", DayTransform(), "ordered_at_day")


def _bad_live(shop: Shop, topic: str) -> None:
    for name in ("shared", "live-behind", "live-ahead", "live-expired"):
        shop.pipeline(name, topic)
        shop.table(name)
    refunds = {props.AUTHOR: "live", props.PIPELINE: "refunds", props.OFFSETS: "{}"}
    shop.live("shared", DAYS, {0: (0, 72), 1: (0, 72)})
    shop.write("shared", DAYS, refunds)
    shop.live("live-behind", DAYS[:1], {0: (0, 5), 1: (0, 5)})
    shop.live("live-ahead", DAYS, {0: (0, 72), 1: (0, 73)})
    first = shop.live("live-expired", DAYS, {0: (0, 70), 1: (0, 72)})
    shop.live("live-expired", DAYS, {0: (70, 72)})
    shop.catalog.load_table("shop.live_expired").maintenance.expire_snapshots().by_id(first).commit()


@pytest.fixture(scope="module")
def before(world: Shop) -> dict[str, object]:
    return world.fingerprint()


def expectation(path: Path) -> tuple[str, str]:
    found = re.match(r"# expect: ([a-z.-]+): ?(.*)", path.read_text())
    assert found is not None, f"{path.name} does not say what to expect"
    return found[1], found[2]


def test_there_are_enough_bad_contracts() -> None:
    assert len(FILES) >= 40
    known = {path.stem for path in (BAD.parent / "bad" / "contract").glob("*.yaml")}
    assert not known & {path.stem for path in FILES}, "already among the bad files that are refused unplanned"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_bad_contract(
    path: Path, world: Shop, before: dict[str, object], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code, phrase = expectation(path)
    out = tmp_path / "plan.json"
    command = ["plan", "-f", str(path), "--project", str(world.folder), "--out", str(out), "-o", "json"]
    assert main(command) in (1, 2, 3)
    printed = capsys.readouterr()
    error = json.loads(printed.err)["error"]
    assert error["code"] == code, printed.err
    assert phrase in error["what"] + str(error["command"]) + str(error["hint"]), printed.err
    assert error["state"].startswith(("Nothing was changed.", "No run was created.", "Production unchanged."))
    assert printed.out == ""
    assert not out.exists()
    assert world.fingerprint() == before


def test_the_world_is_good_without_a_bad_contract(world: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    contract = world.contract("orders", DAYS[1], DAYS[2])
    assert main(["plan", "-f", str(contract), "--project", str(world.folder), "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["plan"]["target"]["rows"] == 1
    contract.unlink()


def test_people_read_what_is_wrong_and_what_to_write(world: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "-f", str(BAD / "class-windowed.yaml"), "--project", str(world.folder)]) == 3
    printed = capsys.readouterr()
    assert "plan.windows-open" in printed.err
    assert "Traceback" not in printed.err


@pytest.mark.parametrize("name", ["no-such-contract.yaml", "."])
def test_a_contract_that_can_t_be_read(world: Shop, capsys: pytest.CaptureFixture[str], name: str) -> None:
    assert main(["plan", "-f", str(world.folder / name), "--project", str(world.folder)]) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_a_project_whose_catalog_was_never_used_gets_none(
    tmp_path: Path, kafka: KafkaForTests, capsys: pytest.CaptureFixture[str]
) -> None:
    shop = Shop.open(tmp_path / "shop", kafka)
    for file in sorted((shop.folder / ".anabranch").rglob("*"), reverse=True):
        file.rmdir() if file.is_dir() else file.unlink()
    shop.pipeline("orders", shop.topic([]))
    contract = shop.contract("orders", JUNE, JUNE + DAY)
    assert main(["plan", "-f", str(contract), "--project", str(shop.folder)]) == 2
    assert "target.missing" in capsys.readouterr().err
    assert list((shop.folder / ".anabranch").iterdir()) == []
