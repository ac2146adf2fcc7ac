"""The division of the replay budget: who is admitted, which shares, and that together they never exceed the budget."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st

from anabranch.replay.budget_shares import AGEING, LEAST_SHARE, Member, ReplayBudget, divide, place_of, queue_order

NOW = datetime(2025, 6, 1, tzinfo=timezone.utc)
MINUTE = timedelta(minutes=1)
BUDGET = ReplayBudget(1000, 2)


def settled(members: list[Member], budget: ReplayBudget = BUDGET, now: datetime = NOW) -> dict[str, int]:
    """The shares once every process has acknowledged what it was given, as often as it takes."""
    for _ in range(5):
        members = [replace(each, held=each.granted) for each in divide(budget, members, now)]
    return {each.run: each.granted for each in members if each.admitted}


def test_one_run_has_the_whole_budget() -> None:
    assert settled([Member("a", NOW)]) == {"a": 1000}


def test_two_runs_share_by_priority() -> None:
    assert settled([Member("a", NOW, priority=2), Member("b", NOW, priority=6)]) == {"a": 275, "b": 725}


def test_the_earlier_deadline_weighs_more() -> None:
    soon, later = NOW + timedelta(minutes=30), NOW + timedelta(hours=20)
    shares = settled([Member("a", NOW, deadline=later), Member("b", NOW, deadline=soon), Member("c", NOW)])
    assert set(shares) == {"a", "b"}
    assert shares["b"] > shares["a"]


def test_nobody_has_less_than_the_least_share() -> None:
    least, most = Member("a", NOW, priority=1), Member("b", NOW, priority=10, deadline=NOW)
    budget = ReplayBudget(1000, 3)
    shares = settled([least, most, replace(most, run="c")], budget)
    assert shares["a"] >= LEAST_SHARE * budget.bytes_per_second


def test_what_a_run_cannot_use_goes_to_the_others() -> None:
    assert settled([Member("a", NOW, cap=100), Member("b", NOW)]) == {"a": 100, "b": 900}


def test_a_share_grows_only_by_what_others_have_acknowledged() -> None:
    """Shrink before growing: `b` gets nothing while `a` may still read at the whole budget."""
    alone = divide(BUDGET, [Member("a", NOW)], NOW)
    joined = divide(BUDGET, [*alone, Member("b", NOW)], NOW)
    assert [(each.admitted, each.granted) for each in joined] == [(True, 500), (True, 0)]
    acknowledged = [replace(joined[0], held=700), joined[1]]
    assert [each.granted for each in divide(BUDGET, acknowledged, NOW)] == [500, 300]
    acknowledged = [replace(joined[0], held=500), joined[1]]
    assert [each.granted for each in divide(BUDGET, acknowledged, NOW)] == [500, 500]


def test_a_share_taken_back_before_it_was_acknowledged_still_counts() -> None:
    """`a` may have read its grant of 1000 just before it was lowered, and not said so yet."""
    alone = divide(BUDGET, [Member("a", NOW, held=0)], NOW)
    assert (alone[0].granted, alone[0].held) == (1000, 0)
    [a, b] = divide(BUDGET, [*alone, Member("b", NOW)], NOW)
    assert (a.granted, a.held, b.granted) == (500, 1000, 0)


def test_more_runs_than_slots_wait_with_their_place_and_the_reason() -> None:
    runs = [Member(name, NOW + number * MINUTE) for number, name in enumerate("abcde")]
    members = divide(BUDGET, runs, NOW + 10 * MINUTE)
    assert [each.run for each in members if each.admitted] == ["a", "b"]
    now = NOW + 10 * MINUTE
    words = {run: place.words() for run in "abcde" if (place := place_of(run, members, BUDGET, now)) is not None}
    assert words == {
        "c": "1st of 3, waits for one of the runs a, b; 2 of 2 slots in use",
        "d": "2nd of 3, waits for run c; 2 of 2 slots in use",
        "e": "3rd of 3, waits for run d; 2 of 2 slots in use",
    }


def test_a_higher_priority_is_next() -> None:
    runs = [Member("a", NOW), Member("b", NOW), Member("c", NOW), Member("d", NOW, priority=6)]
    members = [replace(each, admitted=each.run in "ab") for each in runs]
    assert [each.run for each in queue_order(members, NOW)] == ["d", "c"]


def test_a_slot_is_not_taken_away_by_a_higher_priority() -> None:
    first = divide(ReplayBudget(1000, 1), [Member("a", NOW)], NOW)
    members = divide(ReplayBudget(1000, 1), [*first, Member("b", NOW, priority=10)], NOW)
    assert [each.run for each in members if each.admitted] == ["a"]


def test_a_paused_run_gives_its_slot_back_and_keeps_its_age() -> None:
    first = divide(ReplayBudget(1000, 1), [Member("a", NOW)], NOW)
    members = divide(ReplayBudget(1000, 1), [replace(first[0], wants=False), Member("b", NOW + MINUTE)], NOW)
    assert [(each.run, each.admitted) for each in members] == [("a", False), ("b", True)]
    again = [replace(members[0], wants=True), members[1], Member("c", NOW + 2 * MINUTE)]
    assert [each.run for each in queue_order(again, NOW + 3 * MINUTE)] == ["a", "c"]


def test_an_exempt_run_takes_neither_slot_nor_share() -> None:
    members = [Member("x", NOW, exempt=True), Member("a", NOW), Member("b", NOW)]
    assert settled(members) == {"a": 500, "b": 500}


def test_nothing_starves_however_many_more_important_runs_join() -> None:
    """One slot, held for half an hour each time; before it is free two runs of the highest weight have joined."""
    budget, now = ReplayBudget(1000, 1), NOW
    members: list[Member] = [Member("patient", NOW, priority=1)]
    for number in range(100):
        urgent = Member(f"u{number:03}", now, priority=10, deadline=now)
        members = list(divide(budget, [*members, urgent, replace(urgent, run=f"v{number:03}")], now))
        [holder] = [each for each in members if each.admitted]
        if holder.run == "patient":
            return
        assert holder.joined - NOW < AGEING * 40, "it joined long after and was admitted before"
        members, now = [each for each in members if each.run != holder.run], now + timedelta(minutes=30)
    raise AssertionError("it never had its turn")


RUNS = tuple("abcde")
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("beat"), st.sampled_from(RUNS), st.just(0)),
        st.tuples(st.just("apply"), st.sampled_from(RUNS), st.just(0)),
        st.tuples(st.just("leave"), st.sampled_from(RUNS), st.just(0)),
        st.tuples(st.just("cap"), st.sampled_from(RUNS), st.integers(1, 1500)),
        st.tuples(st.just("priority"), st.sampled_from(RUNS), st.integers(1, 10)),
        st.tuples(st.just("pause"), st.sampled_from(RUNS), st.integers(0, 1)),
    ),
    max_size=120,
)


@given(STEPS, st.integers(1, 4), st.integers(20, 2000))
def test_processes_never_read_faster_together_than_the_budget(
    steps: list[tuple[str, str, int]], runs: int, rate: int
) -> None:
    """Processes beat, apply and leave in any order; each reads at what it applied last, or at what it was told last
    but has not acknowledged: both count."""
    budget = ReplayBudget(rate, runs)
    table: dict[str, Member] = {}
    told: dict[str, int] = {}
    applied: dict[str, int] = {}
    for act, run, number in steps:
        if act == "leave":
            for kept in (table, told, applied):
                kept.pop(run, None)
        elif act == "apply":
            applied[run] = told.get(run, 0)
        elif run in table and act in ("cap", "priority", "pause"):
            changed = {
                "cap": replace(table[run], cap=number),
                "priority": replace(table[run], priority=number),
                "pause": replace(table[run], wants=not number),
            }
            table[run] = changed[act]
        elif act == "beat":
            held = max(told.get(run, 0), applied.get(run, 0))
            table[run] = replace(table.get(run, Member(run, NOW)), held=held)
            table = {each.run: each for each in divide(budget, list(table.values()), NOW)}
            told[run] = table[run].granted
        assert sum(max(told.get(each, 0), applied.get(each, 0)) for each in RUNS) <= rate
        assert all(each.granted >= 0 for each in table.values())
    assert sum(each.admitted for each in table.values()) <= max(runs, 0)


@given(
    st.lists(st.tuples(st.integers(1, 10), st.one_of(st.none(), st.integers(1, 3000))), min_size=1, max_size=6),
    st.integers(100, 5000),
)
def test_the_whole_budget_is_given_out_as_far_as_it_can_be_used(
    given_: list[tuple[int, int | None]], rate: int
) -> None:
    members = [Member(f"r{n}", NOW, priority=p, cap=cap) for n, (p, cap) in enumerate(given_)]
    shares = settled(members, ReplayBudget(rate, 10))
    wanted = sum(rate if cap is None else cap for _, cap in given_)
    assert sum(shares.values()) <= rate
    assert sum(shares.values()) >= min(rate, wanted) - 2 * len(members)
    least = int(rate * LEAST_SHARE)
    for each in members:
        assert shares[each.run] >= min(least, rate if each.cap is None else each.cap)
