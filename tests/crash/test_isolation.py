"""Consumer groups and their offsets: untouched by a whole run and all its crashes; whoever touches them is found."""

from __future__ import annotations

import signal

import pytest
from tests.crash import groups
from tests.crash.shop import BUGGY, Shop
from tests.crash.story import CONTRACT, PATIENCE, Story

pytestmark = [pytest.mark.long, pytest.mark.kafka, pytest.mark.timeout(PATIENCE)]

MEDDLER = """
from confluent_kafka import Consumer, TopicPartition
_consumer = Consumer({"bootstrap.servers": "BOOTSTRAP", "group.id": "meddled-with"})
_consumer.commit(offsets=[TopicPartition("TOPIC", 0, 43)], asynchronous=False)
_consumer.close()
"""


def test_what_the_broker_remembers_of_groups_is_the_same_byte_for_byte(survived: Story) -> None:
    before, after = survived.groups
    # The broker itself forgets empty groups of other tests now and then.
    assert after.items() <= before.items()
    for name in (survived.shop.group, "bystander-away", "bystander-there"):
        assert _of(before, name)
        assert _of(after, name) == _of(before, name)


def test_the_certificate_says_so(survived: Story) -> None:
    isolation = survived.shop.closure["isolation"]
    assert isolation["holds"] is True
    assert isolation["main_untouched_before_promotion"] is True
    fates = isolation["groups"]
    assert {fates[name] for name in (survived.shop.group, "bystander-away", "bystander-there")} == {"unchanged"}


def test_a_run_that_commits_for_another_group_is_found_out(crash_shop: Shop) -> None:
    shop = crash_shop
    shop.live(shop.sell(3000), BUGGY)
    for name in ("meddled-with", "left-alone"):
        groups.commit(shop.kafka, name, shop.topic, 42)
    transform = shop.folder / "transforms" / "orders.py"
    meddler = MEDDLER.replace("BOOTSTRAP", shop.kafka.bootstrap).replace("TOPIC", shop.topic)
    transform.write_text(transform.read_text() + meddler)
    ended = shop.start("apply", "-f", CONTRACT, ANABRANCH_CRASH_AT="slice.write.after").wait()
    assert ended.code == -signal.SIGKILL, ended
    shop.do("cancel", "last", "--yes")
    shop.do("close", "last", "--yes")
    isolation = shop.closure["isolation"]
    assert isolation["holds"] is False
    assert isolation["groups"]["meddled-with"] == "moved while it had no members"
    assert isolation["groups"]["left-alone"] == "unchanged"


def _of(memory: dict[tuple[int, bytes], bytes], group: str) -> dict[tuple[int, bytes], bytes]:
    return {key: value for key, value in memory.items() if group.encode() in key[1]}
