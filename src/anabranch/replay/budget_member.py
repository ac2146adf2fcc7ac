"""Holds one run to its share of the replay budget: heartbeats, acknowledges, and stops when the database is silent."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from threading import Event, Lock, Thread
from types import TracebackType

from anabranch.errors import AnabranchError, text_of
from anabranch.project.quantities import format_rate
from anabranch.replay.allowance import STANDSTILL, Allowance, RateSource
from anabranch.replay.budget_board import BudgetBoard, BudgetView, Heartbeat
from anabranch.replay.budget_shares import Member
from anabranch.runs.lease import SupersededError

BEAT_SECONDS = 1.0
GRACE_SECONDS = 8.0
"""How long a share is used after the heartbeat that confirmed it was sent. Well below the time after which the database
gives the share to others: by then this process has stopped reading."""


@dataclass(frozen=True)
class Claim:
    """What the run itself says about its part in the budget, read again for each heartbeat."""

    cap: int | None = None
    paused: bool = False
    """Whether the run is paused by an operator between slices."""
    exempt: bool = False


class BudgetMember:
    """A RateSource. Entered for as long as the run waits or replays; it may be entered again inside."""

    def __init__(
        self,
        board: BudgetBoard,
        heartbeat: Heartbeat,
        claim: Callable[[], Claim],
        clock: Callable[[], float] = time.monotonic,
        holds: Sequence[RateSource] = (),
    ) -> None:
        """`holds` are what else may hold the run. While one does, it takes no slot; one that it has it keeps, since a
        slice may be in flight."""
        self._holds = holds
        self._waits_for: Allowance | None = None
        self._board, self._heartbeat, self._claim, self._clock = board, heartbeat, claim, clock
        self._lock, self._stop = Lock(), Event()
        self._entered = 0
        self._thread: Thread | None = None
        self._view: BudgetView | None = None
        self._confirmed = clock()
        self._joined: datetime | None = None
        self._granted = 0
        self._exempt = False
        self._superseded = False
        self._error = "no answer yet"
        self._used: deque[int] = deque(maxlen=2)
        """The rates of the last two answers. When an answer was followed by another one, the limit before it has been
        replaced everywhere."""

    def __enter__(self) -> BudgetMember:
        self._entered += 1
        if self._entered == 1:
            self._thread = Thread(target=self._beat_on, daemon=True, name="budget")
            self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._entered -= 1
        if self._entered == 0 and self._thread is not None:
            self._stop.set()
            self._thread.join(timeout=GRACE_SECONDS)
            try:
                self._board.leave(self._heartbeat.run, self._heartbeat.epoch)
            except AnabranchError:
                return  # the heartbeat expires

    def allowance(self) -> Allowance:
        with self._lock:
            answer = self._answer()
            rate = answer.bytes_per_second
            everything = self._heartbeat.budget.bytes_per_second
            self._used.append(everything if rate is None else 0 if rate == STANDSTILL else rate)
            return answer

    def beat(self) -> None:
        """One heartbeat. Raises what the control database raises; the share then lasts for `GRACE_SECONDS`."""
        claim = self._claim()
        held_by = next((each for each in (hold.allowance() for hold in self._holds) if each.paused), None)
        with self._lock:
            own = None if self._view is None else self._view.member(self._heartbeat.run)
            self._waits_for = None if own is not None and own.admitted else held_by
            if self._exempt and not claim.exempt:
                self._granted = 0  # from now on nothing is read until a share is granted
            self._exempt = claim.exempt
            held = 0 if claim.exempt else max(self._granted, *self._used, 0)
            sent = self._clock()
        beat = self._heartbeat
        view = self._board.beat(
            Heartbeat(
                beat.run,
                beat.epoch,
                beat.context,
                beat.budget,
                beat.deadline,
                claim.cap,
                wants=not claim.paused and self._waits_for is None,
                exempt=claim.exempt,
                held=held,
                joined=self._joined,
            )
        )
        own = view.member(beat.run)
        with self._lock:
            self._view, self._confirmed, self._error = view, sent, "the answer is late"
            self._joined = None if own is None else own.joined
            self._granted = 0 if own is None else own.granted

    def _beat_on(self) -> None:
        while True:
            try:
                self.beat()
            except SupersededError:
                with self._lock:
                    self._superseded = True
                return
            except Exception as error:  # asked again; `allowance` stops the reading when it lasts
                what = error.what if isinstance(error, AnabranchError) else f"{type(error).__name__}: {text_of(error)}"
                with self._lock:
                    self._error = what
            if self._stop.wait(BEAT_SECONDS):
                return

    def _answer(self) -> Allowance:
        """With the lock held."""
        silent = self._clock() - self._confirmed
        if self._superseded:
            return _closed("another process has taken the run over")
        if silent > GRACE_SECONDS:
            return _closed(f"the control database has not confirmed the share for {silent:.0f} s: {self._error}")
        if self._exempt:
            return Allowance("budget", "exempt from the replay budget")
        own = None if self._view is None else self._view.member(self._heartbeat.run)
        if self._view is None or own is None:
            return _closed("joining the replay budget")
        if not own.admitted:
            if self._waits_for is not None:
                return replace(self._waits_for, bytes_per_second=STANDSTILL)
            place = self._view.place(own.run)
            return _closed("paused; its slot is free for others" if place is None else place.words())
        if own.granted == 0:
            return _closed("waits until other runs have given part of the budget back")
        return Allowance("budget", share_words(own, self._view), own.granted)


def share_words(own: Member, view: BudgetView) -> str:
    """For people: "25.0 MB/s of 50.0 MB/s; 2 of 2 slots in use"."""
    used = sum(each.admitted for each in view.members)
    rates = f"{format_rate(own.granted)} of {format_rate(view.budget.bytes_per_second)}"
    return f"{rates}; {used} of {view.budget.runs} slots in use"


def _closed(reason: str) -> Allowance:
    return Allowance("budget", reason, STANDSTILL, paused=True)
