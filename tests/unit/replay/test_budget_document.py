"""The replay budget as `queue` and `status` show it."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

from anabranch.replay.budget_board import BudgetView
from anabranch.replay.budget_document import budget_document, run_entry
from anabranch.replay.budget_shares import MOST_PRIORITY, Member, ReplayBudget

NOW = datetime(2025, 6, 1, 12, tzinfo=timezone.utc)
MINUTE = timedelta(minutes=1)
REPLAYS = Member("a", NOW - 3 * MINUTE, admitted=True, granted=25_000_000, deadline=NOW + timedelta(hours=2))
EXEMPT = Member("b", NOW - 3 * MINUTE, exempt=True)
PAUSED = Member("c", NOW - 2 * MINUTE, wants=False)
EARLY = Member("d", NOW - MINUTE)
URGENT = Member("e", NOW, priority=MOST_PRIORITY)
VIEW = BudgetView(NOW, ReplayBudget(50_000_000, 1), (EARLY, URGENT, REPLAYS, EXEMPT, PAUSED))


def test_runs_that_replay_come_first_then_the_queue_in_its_order() -> None:
    document = budget_document("dev", VIEW)
    assert (document["context"], document["bytes_per_second"]) == ("dev", 50_000_000)
    assert (document["slots"], document["used"]) == (1, 1), "an exempt run holds no slot"
    assert [(each["run"], each["state"], each["position"]) for each in document["runs"]] == [
        ("a", "replaying", None),
        ("b", "exempt", None),
        ("c", "paused", None),
        ("e", "waiting", 1),
        ("d", "waiting", 2),
    ]


def test_each_run_says_why_it_reads_or_waits() -> None:
    why = {each["run"]: each["why"] for each in budget_document("dev", VIEW)["runs"]}
    assert why == {
        "a": "25.0 MB/s of 50.0 MB/s; 1 of 1 slots in use",
        "b": "exempt from the replay budget",
        "c": "paused; its slot is free for others",
        "e": "1st of 2, waits for run a; 1 of 1 slots in use",
        "d": "2nd of 2, waits for run e; 1 of 1 slots in use",
    }


def test_only_a_run_with_a_slot_has_a_rate() -> None:
    assert run_entry(VIEW, "a") == {
        "run": "a",
        "state": "replaying",
        "position": None,
        "priority": 5,
        "bytes_per_second": 25_000_000,
        "joined_at": "2025-06-01T11:57:00+00:00",
        "deadline": "2025-06-01T14:00:00+00:00",
        "why": "25.0 MB/s of 50.0 MB/s; 1 of 1 slots in use",
    }
    waiting = run_entry(VIEW, "d")
    assert waiting is not None
    assert (waiting["bytes_per_second"], waiting["deadline"]) == (None, None)


def test_a_run_that_takes_no_part_has_no_entry() -> None:
    assert run_entry(VIEW, "z") is None
    empty = budget_document("dev", BudgetView(NOW, ReplayBudget(1000, 3), ()))
    assert (empty["runs"], empty["used"], empty["slots"]) == ([], 0, 3)
