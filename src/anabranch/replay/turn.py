"""Waits before a replay begins, while something holds it: the queue of the replay budget, a pause of all replays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from anabranch.errors import AnabranchError
from anabranch.replay.allowance import UNLIMITED, Allowance, RateSource
from anabranch.replay.allowance_words import hold_words
from anabranch.replay.controls import ControlRecords, read_controls
from anabranch.replay.pacing import Pacing, record_change
from anabranch.replay.replayer import POLL_SECONDS, ReplayEnd, RunObserver
from anabranch.replay.staged import StoppedReplay
from anabranch.runs.lease import SupersededError
from anabranch.runs.run_lease import RunLease
from anabranch.runs.states import Event


@dataclass(frozen=True)
class Turn:
    """Before the wait is over nothing is read and no engine is started."""

    lease: RunLease
    holds: Sequence[RateSource]
    """What may hold the run."""
    observer: RunObserver
    sleep: Callable[[float], None]

    def __call__(self) -> StoppedReplay | None:
        """Return when nothing holds the run, or how it ended instead: cancelled, or paused by an operator or Ctrl-C.

        A control database that does not answer is waited for.
        """
        requests: ControlRecords | None = None
        pacing = Pacing(self.holds, changed=self._note)
        while True:
            try:
                # What was asked since the wait began: a pause asked before was answered by starting the run again.
                requests = requests or ControlRecords(self._last_record())
                self.lease.check_epoch()
                controls = read_controls(requests.read(self.lease.reader, self.lease.run_id), None)
                if controls.cancel:
                    self.lease.transition(Event.CANCEL)
                    return StoppedReplay(self.lease.run_id, ReplayEnd.CANCELLED)
                if controls.pause or self.observer.interrupted():
                    return StoppedReplay(self.lease.run_id, ReplayEnd.PAUSED)
                held = pacing.heed(UNLIMITED)
                if not held.paused:
                    return None
                reason = f"start {hold_words(held)}"
            except SupersededError:
                raise
            except AnabranchError as error:
                if self.observer.interrupted():
                    return StoppedReplay(self.lease.run_id, ReplayEnd.PAUSED)
                reason = f"waits: {error.what}"
            self.observer.resting(POLL_SECONDS, reason)
            self.sleep(POLL_SECONDS)

    def _note(self, allowance: Allowance) -> None:
        if allowance.paused:
            record_change(self.lease, self.observer.phase, allowance)

    def _last_record(self) -> int:
        return max((each.seq for each in self.lease.reader.audit(run_id=self.lease.run_id)), default=0)
