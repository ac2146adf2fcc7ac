"""Takes a greater share of the replay budget for a run that retention overtakes otherwise, and gives it back."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from anabranch.errors import AnabranchError
from anabranch.plan.retention.decision import Share
from anabranch.plan.retention.race import SliceSeconds
from anabranch.project.quantities import format_rate
from anabranch.replay.budget_board import BudgetBoard, BudgetView, NotQueuedError
from anabranch.replay.budget_shares import MOST_PRIORITY, share_at
from anabranch.runs.pace import Pace


class ShareControl(Protocol):
    def offer(self, seconds: SliceSeconds) -> Share | None:
        """What a greater share would give; `seconds` is how long slices take now. None: it would give nothing."""

    def take(self) -> None:
        """Take it. Idempotent; changed by hand afterwards, it is not taken again."""

    def give_back(self) -> None:
        """Undo `take`, if it was called. Idempotent."""


class NoShare:
    """No budget is shared."""

    def offer(self, seconds: SliceSeconds) -> Share | None:  # noqa: ARG002
        return None

    def take(self) -> None: ...

    def give_back(self) -> None: ...


@dataclass
class PriorityShare:
    """A `ShareControl` by the run's priority in the replay budget."""

    board: BudgetBoard
    view: Callable[[], BudgetView | None]
    """None: the context has no budget."""
    pace: Callable[[], Pace | None]
    """What limits the run now."""
    run: str
    actor: str
    _former: int | None = None
    _taken: bool = False

    def offer(self, seconds: SliceSeconds) -> Share | None:
        view = None if self._taken else self.view()
        return None if view is None else greater_share(self.run, view, self.pace(), seconds)

    def take(self) -> None:
        if self._taken:
            return
        self._taken = True
        view = self.view()
        own = None if view is None else view.member(self.run)
        if own is not None and own.priority < MOST_PRIORITY:
            with suppress(NotQueuedError):
                self.board.set_priority(self.run, MOST_PRIORITY, actor=self.actor)
                self._former = own.priority

    def give_back(self) -> None:
        former, self._former = self._former, None
        if former is None:
            return
        with suppress(AnabranchError):  # a run that has left the budget holds no share
            view = self.view()
            own = None if view is None else view.member(self.run)
            if own is not None and own.priority == MOST_PRIORITY:
                self.board.set_priority(self.run, former, actor=self.actor)


def greater_share(run: str, view: BudgetView, pace: Pace | None, seconds: SliceSeconds) -> Share | None:
    """The share at the greatest priority; None where it is no greater, or where the budget is not what limits the run.

    Pure.
    """
    own = view.member(run)
    if own is None or not own.admitted or own.exempt or pace is None or pace.details.get("source") != "budget":
        return None
    now, then = (share_at(run, each, view.budget, view.members, view.at) for each in (own.priority, MOST_PRIORITY))
    if not now < then:
        return None
    words = f"priority {MOST_PRIORITY} instead of {own.priority}: {format_rate(then)} instead of {format_rate(now)}"
    return Share(lambda each: seconds(each) * now / then, words)
