"""kill -9 around the setting and the removal of a broker quota: the next command finds it, says so and removes it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path

import pytest
from tests.crash.shop import BUGGY, Shop
from tests.crash.story import CONTRACT
from tests.fixtures.broker import eventually

from anabranch.adapters.kafka.access import KafkaAccess
from anabranch.adapters.kafka.quotas import KafkaQuotas
from anabranch.app.backfill import submit_contract
from anabranch.app.project_context import open_project
from anabranch.contract.consumer_groups import REPLAY_PREFIX
from anabranch.plan.quotas import QuotaEntity

pytestmark = [pytest.mark.kafka, pytest.mark.long]
RATE = 5_000_000
POINTS = {"quota.set.before": None, "quota.set.after": RATE, "quota.remove.before": RATE, "quota.remove.after": None}
"""The quota that a process leaves when it is killed there."""


def submitted(shop: Shop) -> str:
    shop.live(shop.sell(600), BUGGY)
    project_context = open_project(shop.folder, "dev")
    with project_context.store() as store:
        now = datetime.now(timezone.utc)
        return submit_contract(project_context, store, shop.folder / CONTRACT, now=now, actor="ann").id


def brake_killed_at(shop: Shop, run_id: str, point: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "tests.crash.braking", str(shop.folder), run_id, str(RATE)],
        env={**os.environ, "ANABRANCH_CRASH_AT": point},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        check=False,
        timeout=300,
    )
    assert ended.returncode == -signal.SIGKILL, ended.stderr.decode()


def quota(shop: Shop, run_id: str) -> int | None:
    return KafkaQuotas(KafkaAccess(shop.kafka.bootstrap)).read(entity(run_id))


def entity(run_id: str) -> QuotaEntity:
    return QuotaEntity("ANONYMOUS", f"{REPLAY_PREFIX}-{run_id}")


def ends(shop: Shop) -> list[tuple[str | None, ...]]:
    return shop.ask("SELECT how FROM quotas ORDER BY number")


@pytest.mark.parametrize("point", POINTS)
def test_the_next_command_finds_a_killed_process_s_quota(crash_shop: Shop, point: str) -> None:
    run_id, left = submitted(crash_shop), POINTS[point]
    brake_killed_at(crash_shop, run_id, point)
    assert quota(crash_shop, run_id) == left
    assert ends(crash_shop) == [(None,)], "its record is open"
    next_command = ("cancel", run_id, "--yes") if point.endswith("after") else ("quotas", "sweep")
    ended = crash_shop.do(*next_command)
    assert f"Left by run {run_id}" in ended.out + ended.err
    assert ("removed." if left else "was not there any more.") in ended.out + ended.err
    eventually(lambda: quota(crash_shop, run_id) is None)
    assert ends(crash_shop) == [("removed" if left else "gone",)]
    again = crash_shop.do("quotas", "sweep")
    assert "No run of this project has left a quota." in again.out


def test_a_value_that_is_not_ours_any_more_is_left(crash_shop: Shop) -> None:
    run_id = submitted(crash_shop)
    brake_killed_at(crash_shop, run_id, "quota.set.after")
    brokers = KafkaQuotas(KafkaAccess(crash_shop.kafka.bootstrap))
    brokers.set(entity(run_id), 9_000_000)
    try:
        eventually(lambda: quota(crash_shop, run_id) == 9_000_000)
        ended = crash_shop.do("cancel", run_id, "--yes")
        assert "left: another user changed it; its value is 9,000,000 bytes/s and ours was 5,000,000" in ended.err
        assert quota(crash_shop, run_id) == 9_000_000
        assert ends(crash_shop) == [("changed",)]
    finally:
        brokers.remove(entity(run_id))


def test_a_killed_replay_goes_on_without_its_orphan_and_leaves_none(crash_shop: Shop) -> None:
    contract = crash_shop.folder / CONTRACT
    text = contract.read_text()
    assert "bytesPerSecond: 20MiB" in text
    contract.write_text(text.replace("bytesPerSecond: 20MiB", "bytesPerSecond: 5MB"))
    crash_shop.live(crash_shop.sell(2000), BUGGY)
    killed = crash_shop.start("apply", "-f", CONTRACT, ANABRANCH_CRASH_AT="quota.set.after").wait()
    assert killed.code == -signal.SIGKILL, killed.err
    run_id = crash_shop.run_id
    assert quota(crash_shop, run_id) == RATE
    listed = crash_shop.do("quotas").out
    assert run_id in listed
    assert "left by an ended process" in listed
    ended = crash_shop.do("retry", run_id)
    assert f"Left by run {run_id}: Broker quota for user ANONYMOUS" in ended.err
    assert quota(crash_shop, run_id) is None
    assert set(ends(crash_shop)) == {("removed",)}
