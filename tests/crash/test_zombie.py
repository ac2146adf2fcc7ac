"""A process stopped past its lease and continued after a takeover: it changes nothing, says so, and leaves nothing."""

from __future__ import annotations

import signal
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import datetime, timezone
from typing import Any

import pytest
from tests.crash.checker import rows_of
from tests.crash.shop import BUGGY, FORFEIT, Process, Shop
from tests.crash.story import CONTRACT
from tests.fixtures.broker import eventually

pytestmark = [pytest.mark.long, pytest.mark.kafka, pytest.mark.timeout(900)]

EVENTS = 6000
SHORT = {"ANABRANCH_LEASE_SECONDS": "2"}
CONFLICT = 4


def test_whoever_is_continued_after_a_takeover_changes_nothing(crash_shop: Shop) -> None:
    shop = crash_shop
    shop.live(shop.sell(EVENTS), BUGGY)
    shop.do("plan", "-f", CONTRACT, "--slice-size", str(EVENTS // 3), "--out", "plan.json")
    _a_driver_in_the_middle_of_a_commit(shop)
    assert shop.compare(promoted=False).doubled == 0
    for command, point, state in (
        ("promote", "promote.commit.before", "promoted"),
        ("rollback", "rollback.commit.before", "rolled_back"),
        ("promote", "branch.after", "promoted"),
        ("close", "close.before", "closed"),
    ):
        typed = (command, "last", "--yes", *(FORFEIT if command == "close" else ()))
        zombie = _stopped(shop, *typed, at=point)
        shop.do(*typed)
        assert shop.state == state
        _continued_in_vain(shop, zombie)
        compared = shop.compare(promoted=state != "rolled_back")
        assert (compared.missing, compared.doubled) == (0, 0), f"{command} at {point}: {compared.examples}"
    assert set(shop.refs) == {"main"}


def test_a_driver_continued_after_its_run_was_closed_leaves_no_staging(crash_shop: Shop) -> None:
    shop = crash_shop
    shop.live(shop.sell(EVENTS), BUGGY)
    zombie = _stopped(shop, "apply", "-f", CONTRACT, at="branch.before")
    shop.do("cancel", "last", "--yes")
    shop.do("close", "last", "--yes")
    _continued_in_vain(shop, zombie)
    assert set(shop.refs) == {"main"}


def _a_driver_in_the_middle_of_a_commit(shop: Shop) -> None:
    """Stopped, JVM and all, when the new state of the table is written and the catalog was not told of it yet."""
    zombie = _stopped(shop, "apply", "plan.json", at="slice.commit.before:2", expire=False)
    with _catalog_locked(shop):
        written = _states_written(shop)
        zombie.signal(signal.SIGCONT)
        eventually(lambda: _states_written(shop) > written, 120)
        zombie.signal(signal.SIGSTOP, group=True)
    _await_expiry(shop)
    shop.do("apply", "plan.json")
    assert shop.state == "validated"
    _continued_in_vain(shop, zombie)
    said = [dict(each.summary.additional_properties) for each in shop.table.metadata.snapshots if each.summary]
    commits = [each["anabranch.epoch"] for each in said if each.get("anabranch.slice") == "s00001"]
    assert commits == ["2"], "the zombie's commit was refused: its branch was gone by the commit itself"


def _stopped(shop: Shop, *command: str, at: str, expire: bool = True) -> Process:
    process = shop.start(*command, ANABRANCH_STOP_AT=at, **SHORT)
    process.await_stopped()
    if expire:
        _await_expiry(shop)
    return process


def _await_expiry(shop: Shop) -> None:
    def expired() -> bool:
        [(until,)] = shop.ask("SELECT expires_at FROM leases")
        return datetime.fromisoformat(until.replace("Z", "+00:00")) < datetime.now(timezone.utc)

    eventually(expired)


def _continued_in_vain(shop: Shop, zombie: Process) -> None:
    before = _looked_at(shop)
    zombie.signal(signal.SIGCONT, group=True)
    ended = zombie.wait()
    assert ended.code == CONFLICT, ended
    assert "[lease.superseded]" in ended.err
    assert _looked_at(shop) == before


def _looked_at(shop: Shop) -> dict[str, Any]:
    """All that a zombie could change: main and staging with their rows, the run, its journal, its record."""
    refs = shop.refs
    return {
        "refs": refs,
        "rows": {ref: rows_of(shop.table, ref) for ref in refs},
        "run": shop.ask("SELECT * FROM runs"),
        "leases": shop.ask("SELECT * FROM leases"),
        "journal": shop.ask("SELECT * FROM journal ORDER BY number"),
        "audit": shop.ask("SELECT count(*) FROM audit"),
        "record": shop.closure if shop.state == "closed" else None,
    }


@contextmanager
def _catalog_locked(shop: Shop) -> Iterator[None]:
    """Whoever commits waits, and whoever reads does not."""
    with closing(sqlite3.connect(shop.folder / ".anabranch" / "catalog.db", timeout=60)) as database:
        assert database.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        database.isolation_level = None
        database.execute("BEGIN IMMEDIATE")
        yield
        database.execute("ROLLBACK")


def _states_written(shop: Shop) -> int:
    return len(list((shop.folder / ".anabranch" / "warehouse").glob("shop/orders/metadata/*.metadata.json")))
