"""The replay budget as people and programs see it: who replays at which share, who waits and why. Pure."""

from __future__ import annotations

from typing import Any

from anabranch.replay.budget_board import BudgetView
from anabranch.replay.budget_member import share_words
from anabranch.replay.budget_shares import Member, queue_order


def budget_document(context: str, view: BudgetView) -> dict[str, Any]:
    """The budget, and its runs: those that replay, then the queue in the order in which it is admitted."""
    waiting = queue_order(view.members, view.at)
    others = [each for each in view.members if each not in waiting]
    return {
        "context": context,
        "bytes_per_second": view.budget.bytes_per_second,
        "slots": view.budget.runs,
        "used": sum(each.admitted for each in view.members),
        "runs": [_entry(each, view) for each in (*others, *waiting)],
    }


def run_entry(view: BudgetView, run_id: str) -> dict[str, Any] | None:
    """The run's share or its place; None: it takes no part in the budget now."""
    member = view.member(run_id)
    return None if member is None else _entry(member, view)


def _entry(member: Member, view: BudgetView) -> dict[str, Any]:
    place = view.place(member.run)
    if member.exempt:
        state, words = "exempt", "exempt from the replay budget"
    elif member.admitted:
        state, words = "replaying", share_words(member, view)
    elif place is None:
        state, words = "paused", "paused; its slot is free for others"
    else:
        state, words = "waiting", place.words()
    return {
        "run": member.run,
        "state": state,
        "position": None if place is None else place.position,
        "priority": member.priority,
        "bytes_per_second": member.granted if member.admitted else None,
        "joined_at": member.joined.isoformat(),
        "deadline": None if member.deadline is None else member.deadline.isoformat(),
        "why": words,
    }
