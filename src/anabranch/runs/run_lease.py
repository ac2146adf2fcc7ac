"""Holds and renews the lease of a run, so that every change is made under its epoch or refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from threading import Event as Signal
from threading import Thread
from typing import Protocol

from anabranch.crashpoints import reach
from anabranch.errors import AnabranchError
from anabranch.runs.journal import JournalEntry, Outcome
from anabranch.runs.lease import SupersededError
from anabranch.runs.run import Run, RunFault
from anabranch.runs.states import Event
from anabranch.runs.store import RunReader, RunWriter

LEASE_DURATION = timedelta(seconds=30)


class RunStore(Protocol):
    """The reader and the writer of the run store."""

    @property
    def reader(self) -> RunReader: ...

    @property
    def writer(self) -> RunWriter: ...


@dataclass(frozen=True)
class RunLease:
    """The right to change one run. Every change carries its epoch; the store refuses a superseded one."""

    reader: RunReader
    writer: RunWriter
    run_id: str
    epoch: int
    actor: str

    @property
    def run(self) -> Run:
        """The run as the store has it now."""
        return self.reader.run(self.run_id)

    def transition(
        self, event: Event, details: Mapping[str, object] | None = None, *, fault: RunFault | None = None
    ) -> Run:
        return self.writer.transition(self.run_id, self.epoch, event, actor=self.actor, details=details, fault=fault)

    def fail(self, error: AnabranchError) -> Run:
        return self.transition(Event.FAIL, fault=RunFault(error.code, error.what))

    def record_intent(self, step: str, details: Mapping[str, object] | None = None, *, intent: str) -> JournalEntry:
        """Record an act before it is done, under the id that the act will write to the resource."""
        reach("journal.before")
        entry = self.writer.record_intent(self.run_id, self.epoch, step, details, intent=intent)
        reach("journal.after")
        return entry

    def record_outcome(
        self, entry: JournalEntry, outcome: Outcome, details: Mapping[str, object] | None = None
    ) -> None:
        self.writer.record_outcome(entry.id, self.epoch, outcome, details)

    def abandon_intents(self, step: str, why: str) -> None:
        """Record open intents of this step as failed, with `why`: recovery no longer looks for their effect."""
        for entry in self.reader.open_intents(self.run_id):
            if entry.step == step:
                self.record_outcome(entry, Outcome.FAILED, {"what": why})

    @contextmanager
    def performing(self, step: str) -> Iterator[dict[str, object]]:
        """Journal a step that is safe to repeat: intent before it, outcome after it.

        The yielded dict is recorded with the outcome. After an AnabranchError the intent is recorded as failed and the
        error is raised again. An intent that an earlier process left open is recorded as failed first.
        """
        self.abandon_intents(step, "its process ended")
        entry = self.record_intent(step, intent=f"{self.run_id}-{step}-{self.number(step)}")
        details: dict[str, object] = {}
        try:
            yield details
        except AnabranchError as error:
            self.record_outcome(entry, Outcome.FAILED, {"code": error.code, "what": error.what})
            raise
        self.record_outcome(entry, Outcome.SUCCEEDED, details)

    def number(self, step: str) -> int:
        """The number of the next attempt at this step, counted from 1."""
        return 1 + sum(entry.step == step for entry in self.reader.journal(self.run_id))

    def check_epoch(self) -> None:
        """Raise SupersededError if another process has taken the run over."""
        lease = self.reader.lease(self.run_id)
        if lease.epoch != self.epoch:
            raise SupersededError(lease, self.epoch)


@contextmanager
def acquire_run_lease(
    store: RunStore, run_id: str, *, holder: str, actor: str, ttl: timedelta = LEASE_DURATION, take_over: bool = False
) -> Iterator[RunLease]:
    """Take the run's lease, renew it during the block, and release it at the end."""
    reach("lease.before")
    lease = store.writer.acquire(run_id, holder, ttl, actor=actor, take_over=take_over)
    reach("lease.after")
    stop = Signal()
    renewer = Thread(target=_renew, args=(store.writer, run_id, lease.epoch, ttl, stop), daemon=True, name="lease")
    renewer.start()
    run_lease = RunLease(store.reader, store.writer, run_id, lease.epoch, actor)

    def release() -> None:
        stop.set()
        renewer.join()
        if store.reader.lease(run_id).epoch == lease.epoch:
            store.writer.release(run_id, lease.epoch, actor=actor)

    try:
        yield run_lease
    except BaseException:
        with suppress(AnabranchError):  # report the first error; a lease that is not released expires
            release()
        raise
    release()


def _renew(writer: RunWriter, run_id: str, epoch: int, ttl: timedelta, stop: Signal) -> None:
    while not stop.wait(ttl.total_seconds() / 3):
        try:
            writer.renew(run_id, epoch, ttl)
        except SupersededError:
            return  # the next change under this epoch raises it
        except AnabranchError:
            continue  # try again: the database may be back before the lease expires
