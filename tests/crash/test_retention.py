"""A process killed between extending a topic's retention and restoring it: the next command finds what is left over."""

from __future__ import annotations

import json
import signal
from datetime import datetime, timedelta, timezone

import pytest
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType
from tests.crash.shop import BEGINNING, BUGGY, Ended, Shop
from tests.crash.story import CONTRACT
from tests.fixtures.broker import QUIET, eventually

pytestmark = [pytest.mark.long, pytest.mark.kafka, pytest.mark.timeout(900)]

EXTENDED = str(timedelta(days=3650) // timedelta(milliseconds=1))
CHANGES = {"spec:\n": "spec:\n  retention: {extendUpTo: 3650d}\n", "bytesPerSecond: 20MiB": "bytesPerSecond: 100"}
"""Thousands of orders take hours at this rate."""


@pytest.fixture
def expiring(crash_shop: Shop) -> tuple[Shop, str]:
    """A shop whose first orders expire in half an hour, and its topic's retention."""
    shop = crash_shop
    shop.live(shop.sell(6000), BUGGY)
    contract = shop.folder / CONTRACT
    for old, new in CHANGES.items():
        assert old in contract.read_text()
        contract.write_text(contract.read_text().replace(old, new, 1))
    former = str((datetime.now(timezone.utc) - BEGINNING + timedelta(minutes=30)) // timedelta(milliseconds=1))
    change = ConfigEntry("retention.ms", former, incremental_operation=AlterConfigOpType.SET)
    client = AdminClient({"bootstrap.servers": shop.kafka.bootstrap, **QUIET})
    resource = ConfigResource(ResourceType.TOPIC, shop.topic, incremental_configs=[change])
    client.incremental_alter_configs([resource])[resource].result(30)
    eventually(lambda: retention(shop) == former)
    return shop, former


def retention(shop: Shop) -> str:
    client = AdminClient({"bootstrap.servers": shop.kafka.bootstrap, **QUIET})
    [answer] = client.describe_configs([ConfigResource(ResourceType.TOPIC, shop.topic)]).values()
    return str(answer.result(30)["retention.ms"].value)


def killed(shop: Shop, *command: str, at: str) -> None:
    ended = shop.start(*command, ANABRANCH_CRASH_AT=at).wait()
    assert ended.code == -signal.SIGKILL, f"{command} at {at}: {ended}"


def done(shop: Shop, *command: str) -> Ended:
    ended = shop.start(*command).wait()
    assert ended.code == 0, f"{command}: {ended}"
    return ended


def open_intents(shop: Shop) -> int:
    [(count,)] = shop.ask("SELECT count(*) FROM journal WHERE step = 'retention-extension' AND outcome IS NULL")
    return int(count)


def test_what_a_killed_replay_has_extended_is_found_and_restored_by_the_next_command(
    expiring: tuple[Shop, str],
) -> None:
    shop, former = expiring
    apply = ("apply", "-f", CONTRACT)
    killed(shop, *apply, at="retention.extend.before")
    assert (retention(shop), open_intents(shop)) == (former, 1), "on record, and not made yet"
    killed(shop, *apply, at="retention.extend.after")
    assert (retention(shop), open_intents(shop)) == (EXTENDED, 1), "by the same intent"
    [left] = json.loads(done(shop, "status", "last", "-o", "json").out)["retention"]["extended"]
    assert (left["was_ms"], left["to_ms"], left["topic"]) == (int(former), int(EXTENDED), shop.topic)

    killed(shop, "retention", "sweep", at="retention.restore.before")
    assert (retention(shop), open_intents(shop)) == (EXTENDED, 1)
    killed(shop, "cancel", "last", "--yes", at="retention.restore.after")
    assert (retention(shop), open_intents(shop)) == (former, 1), "restored, and not on record yet"
    swept = json.loads(done(shop, "retention", "sweep", "-o", "json").out)
    assert (swept["failed"], swept["standing"]) == ([], [])
    assert (retention(shop), open_intents(shop)) == (former, 0)
