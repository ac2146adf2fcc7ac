"""Restores the extensions of retention that processes left: of this run, or of every run whose process has ended."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from datetime import datetime

from anabranch.errors import AnabranchError
from anabranch.replay.retention_extension import STEP, ExtensionIntent, RetentionControl, settle
from anabranch.runs.journal import JournalEntry
from anabranch.runs.lease import LeaseHeldError, SupersededError
from anabranch.runs.lease_holder import is_gone
from anabranch.runs.run_lease import RunLease
from anabranch.runs.store import RunReader

TakeLease = Callable[[str], AbstractContextManager[RunLease]]
"""Takes the lease of a run whose process has ended."""
Notice = Callable[[str], object]


def restore_own(lease: RunLease, control: Callable[[], RetentionControl], notice: Notice) -> None:
    """Restore what an earlier process of this run extended and did not restore. Reports a failure and goes on."""
    try:
        entries = lease.reader.open_steps(STEP)
    except AnabranchError:
        return  # a control database that does not answer is reported by the command itself
    for entry in entries:
        if entry.run_id == lease.run_id:
            _settle(lease, control, entry, entries, notice, notice)


def sweep_extensions(
    reader: RunReader,
    take_lease: TakeLease,
    control: Callable[[], RetentionControl],
    now: datetime,
    notice: Notice,
    failed: Notice,
    besides: str | None = None,
) -> list[ExtensionIntent]:
    """Restore the extensions of runs whose process has ended, but not of the run `besides`; returns those that stand.

    A run that was killed and is started again extends retention again if it still has to.
    """
    for entry in reader.open_steps(STEP):
        if entry.run_id == besides or _is_alive(reader, entry.run_id, now):
            continue
        # Another command that restores it at this moment holds the lease.
        with suppress(LeaseHeldError), take_lease(entry.run_id) as lease:
            _settle(lease, control, entry, reader.open_steps(STEP), notice, failed)
    return [ExtensionIntent.of(each) for each in reader.open_steps(STEP)]


def _is_alive(reader: RunReader, run_id: str, now: datetime) -> bool:
    lease = reader.lease(run_id)
    return lease.held_by_another("", now) and not is_gone(lease.holder or "")


def _settle(
    lease: RunLease,
    control: Callable[[], RetentionControl],
    entry: JournalEntry,
    entries: Sequence[JournalEntry],
    notice: Notice,
    failed: Notice,
) -> None:
    intent = ExtensionIntent.of(entry)
    others = [each for each in entries if each.id != entry.id and each.details.get("topic") == intent.topic]
    try:
        settle(lease, control(), entry, others, notice)
    except SupersededError:
        return  # the process that has taken the run over restores it
    except AnabranchError as error:
        failed(
            f"retention.ms of {intent.topic} is still extended by run {intent.run} (was {intent.was_ms}): {error.what} "
            "Restore it with `anabranch retention sweep`."
        )
