"""The sums of a journal: each slice counts with its own outcome, and a slice that was staged twice is staged once."""

from datetime import datetime, timedelta, timezone
from typing import Any

from anabranch.monitoring.tally import LAST, tally_run
from anabranch.runs.journal import JournalEntry, Outcome

START = datetime(2025, 6, 1, tzinfo=timezone.utc)
PLAN = {"slices": [{"id": f"s{n:05}", "offsets": {"0": [n * 10, n * 10 + 10]}} for n in range(10)]}


def entry(
    slice_: str,
    outcome: Outcome | None = Outcome.SUCCEEDED,
    *,
    step: str = "slice",
    epoch: int = 1,
    at: int = 0,
    size: int = 100,
    quarantined: int = 0,
) -> JournalEntry:
    ledger = {"offsets": 10, "output": 10 - quarantined, "quarantined": quarantined, "rows": 10}
    details: dict[str, Any] = {"ledger": {"bytes": size, "partitions": {"0": ledger}}}
    begun = START + timedelta(seconds=at)
    done = None if outcome is None else begun + timedelta(seconds=1)
    found = details if outcome is Outcome.SUCCEEDED else None
    return JournalEntry(
        f"{step}/{slice_}/{epoch}/{at}", "r", epoch, step, {"slice": slice_}, begun, outcome, found, done
    )


def test_outcomes_are_counted_once_they_are_known() -> None:
    journal = [
        entry("s00000"),
        entry("s00001", Outcome.FAILED, at=1),
        entry("s00001", at=2),
        entry("s00002", Outcome.UNKNOWN, at=3),
        entry("s00003", None, at=4),
    ]
    assert dict(tally_run(journal, PLAN, 1).slices) == {"succeeded": 2, "failed": 1}


def test_a_control_reads_bytes_but_its_offsets_are_not_counted_twice() -> None:
    tally = tally_run([entry("s00000", quarantined=2), entry("s00000", step="control", quarantined=2)], PLAN, 1)
    assert (tally.bytes, tally.account.offsets, tally.account.quarantined) == (200, 10, 2)
    assert dict(tally.slices) == {"succeeded": 2}


def test_progress_counts_the_plans_slices_once_and_no_others() -> None:
    journal = [entry("s00000"), entry("s00000", epoch=2, at=5), entry("s00001", epoch=2, at=6), entry("live-1", at=7)]
    tally = tally_run(journal, PLAN, 2)
    assert (tally.staged, tally.planned) == (20, 100)


def test_the_rate_is_of_the_last_slices_of_the_present_epoch() -> None:
    journal = [entry(f"s{n:05}", at=n, epoch=1 if n < 2 else 2) for n in range(10)]
    recent = tally_run(journal, PLAN, 2).recent
    assert recent is not None
    assert (recent.offsets, recent.bytes) == (LAST * 10, LAST * 100)
    assert recent.since == START + timedelta(seconds=10 - LAST)
    assert tally_run(journal, PLAN, 3).recent is None


def test_the_last_promotion_counts() -> None:
    assert tally_run([entry("s00000")], PLAN, 1).promoted_at is None
    journal = [entry("", step="promote", at=3), entry("", Outcome.FAILED, step="promote", at=9)]
    assert tally_run(journal, PLAN, 1).promoted_at == START + timedelta(seconds=4)
