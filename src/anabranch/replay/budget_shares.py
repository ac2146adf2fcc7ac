"""Divides the replay budget among runs: who replays, who waits, and at which rate. Pure.

A run's weight is its priority times the urgency of its deadline. Each admitted run has at least 5 % of the budget. A
share grows only by what others have acknowledged to have given back: at no moment do the rates at which processes may
read add up to more than the budget.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

LEAST_SHARE = 0.05
LEAST_PRIORITY, USUAL_PRIORITY, MOST_PRIORITY = 1, 5, 10
AGEING = timedelta(minutes=10)
"""Waiting this long counts as much as one unit of weight. The greatest weight is 40, so that after seven hours a run is
before every one that joins."""
URGENT = ((timedelta(hours=1), 4), (timedelta(hours=6), 3), (timedelta(hours=24), 2))
"""Time left until the deadline, and the factor. Steps, not a slope: every change of a share costs a round of
acknowledgements."""


@dataclass(frozen=True)
class ReplayBudget:
    """What all replays of one context may read together."""

    bytes_per_second: int
    runs: int
    """How many may replay at once."""


@dataclass(frozen=True)
class Member:
    """A run that replays within the budget, or waits for its turn."""

    run: str
    joined: datetime
    priority: int = USUAL_PRIORITY
    deadline: datetime | None = None
    cap: int | None = None
    """The run's own limit in bytes per second: more would not be used."""
    wants: bool = True
    """False while an operator has paused the run: it keeps its age and gives its slot back."""
    exempt: bool = False
    """Whether the run is exempted: it takes part in neither slots nor shares."""
    admitted: bool = False
    granted: int = 0
    """The share in bytes per second."""
    held: int = 0
    """The highest rate at which its process may still be reading, by its last acknowledgement."""


@dataclass(frozen=True)
class Place:
    """Where a run stands in the queue."""

    position: int
    waiting: int
    behind: tuple[str, ...]
    """The run before it; for the first one the runs that hold the slots."""
    used: int
    slots: int

    def words(self) -> str:
        """For people: "2nd of 3, waits for run X; 2 of 2 slots in use"."""
        runs = f"run {self.behind[0]}" if len(self.behind) == 1 else f"one of the runs {', '.join(self.behind)}"
        behind = f", waits for {runs}" if self.behind else ""
        return f"{_ordinal(self.position)} of {self.waiting}{behind}; {self.used} of {self.slots} slots in use"


def divide(budget: ReplayBudget, members: Sequence[Member], now: datetime) -> tuple[Member, ...]:
    """The same members with who is admitted, and with shares that never exceed the budget while they change.

    A share that shrinks stays `held` until its process has acknowledged the smaller one; a share grows only by what is
    neither held nor granted.
    """
    active = _admitted(budget, members, now)
    targets = _targets(budget, [each for each in members if each.run in active], now)
    shared = [each for each in members if not each.exempt]
    left = budget.bytes_per_second - sum(max(each.held, each.granted) for each in shared)
    divided: dict[str, Member] = {}
    for each in sorted(members, key=lambda member: (-_weight(member, now), member.joined, member.run)):
        target, held, granted = targets.get(each.run, 0), each.held, each.granted
        if target < granted:
            held, granted = max(held, granted), target
        elif target > granted and left > 0:
            growth = min(target - granted, left)
            left, granted = left - growth, granted + growth
        divided[each.run] = replace(each, admitted=each.run in active, granted=granted, held=held)
    return tuple(divided[each.run] for each in members)


def share_at(run: str, priority: int, budget: ReplayBudget, members: Sequence[Member], now: datetime) -> int:
    """The share in bytes per second that an admitted run would arrive at with this priority; 0 for any other."""
    changed = [replace(each, priority=priority) if each.run == run else each for each in members]
    return _targets(budget, [each for each in changed if each.admitted and not each.exempt], now).get(run, 0)


def queue_order(members: Iterable[Member], now: datetime) -> tuple[Member, ...]:
    """The runs that wait for a slot, the next one first: by weight and age."""
    waiting = [each for each in members if not each.admitted and each.wants and not each.exempt]
    return tuple(sorted(waiting, key=lambda each: (-_rank(each, now), each.joined, each.run)))


def place_of(run: str, members: Sequence[Member], budget: ReplayBudget, now: datetime) -> Place | None:
    """Where the run stands in the queue; None if it does not wait."""
    queue = [each.run for each in queue_order(members, now)]
    if run not in queue:
        return None
    position = queue.index(run)
    slots = tuple(each.run for each in members if each.admitted)
    behind = (queue[position - 1],) if position else slots
    return Place(position + 1, len(queue), behind, len(slots), budget.runs)


def _admitted(budget: ReplayBudget, members: Sequence[Member], now: datetime) -> frozenset[str]:
    """Who has a slot: who had one and still wants it, then the queue. Nobody loses a slot to another run."""
    kept = [each.run for each in members if each.admitted and each.wants and not each.exempt]
    rest = [replace(each, admitted=each.run in kept) for each in members]
    free = max(0, budget.runs - len(kept))
    return frozenset([*kept, *(each.run for each in queue_order(rest, now)[:free])])


def _targets(budget: ReplayBudget, active: Sequence[Member], now: datetime) -> Mapping[str, int]:
    """The shares to arrive at: the least share for each, and the rest by weight, up to each run's own limit."""
    if not active:
        return {}
    total = budget.bytes_per_second
    least = int(total * min(LEAST_SHARE, 1 / len(active)))
    caps = {each.run: total if each.cap is None else min(each.cap, total) for each in active}
    shares = {each.run: min(least, caps[each.run]) for each in active}
    weights = {each.run: _weight(each, now) for each in active}
    hungry = {run for run in shares if shares[run] < caps[run]}
    while hungry:
        left, together = total - sum(shares.values()), sum(weights[run] for run in hungry)
        parts = {run: left * weights[run] // together for run in hungry}
        full = {run for run in hungry if shares[run] + parts[run] >= caps[run]}
        for run in full or hungry:
            shares[run] = min(caps[run], shares[run] + parts[run])
        hungry = hungry - full if full else set()
    return shares


def _weight(member: Member, now: datetime) -> int:
    urgency = 1
    if member.deadline is not None:
        left = member.deadline - now
        urgency = next((factor for limit, factor in URGENT if left <= limit), 1)
    return member.priority * urgency


def _rank(member: Member, now: datetime) -> float:
    return _weight(member, now) + (now - member.joined) / AGEING


def _ordinal(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"
