"""The ledger's arithmetic: what adds up is accepted, and any slip of a slice or of a count is named."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.fixtures.properties import effort

from anabranch.plan.offsets.intervals import union
from anabranch.plan.slices import Slice, cut
from anabranch.replay.gaps import Gap
from anabranch.replay.ledger import FATES, Account, SliceAccount, conservation, settle, total

counts = st.integers(0, 10_000)
ranges = st.dictionaries(
    st.integers(0, 20),
    st.lists(st.tuples(counts, st.integers(1, 500)).map(lambda r: (r[0], r[0] + r[1])), min_size=1).map(union),
    min_size=1,
    max_size=3,
)


@st.composite
def balanced(draw: st.DrawFn, offsets: int | None = None) -> Account:
    """An account that spreads its offsets over the fates somehow."""
    whole = draw(counts) if offsets is None else offsets
    cuts = sorted(draw(st.lists(st.integers(0, whole), min_size=len(FATES) - 1, max_size=len(FATES) - 1)))
    shares = [b - a for a, b in zip([0, *cuts], [*cuts, whole], strict=True)]
    output = shares[0]
    return replace(Account(whole, *shares), rows=output + draw(st.integers(0, 5)))


@st.composite
def replays(draw: st.DrawFn) -> tuple[tuple[Slice, ...], list[SliceAccount]]:
    """A plan's slices, and the accounts of a replay in which nothing went wrong."""
    planned = draw(ranges)
    slices = cut(planned, draw(st.integers(200, 1_500)))
    accounts = [
        SliceAccount(each, {p: draw(balanced(end - start)) for p, (start, end) in each.offsets.items()})
        for each in slices
    ]
    return slices, draw(st.permutations(accounts))


@effort(100, 5_000)
@given(balanced(), balanced())
def test_adding_keeps_the_balance(one: Account, other: Account) -> None:
    both = one + other
    assert both.balances
    assert both.offsets == one.offsets + other.offsets
    assert both.rows == one.rows + other.rows
    assert total([one, other]) == both == other + one
    assert one + Account() == one


@effort(100, 5_000)
@given(balanced(), st.sampled_from(FATES), st.integers(-3, 3).filter(bool))
def test_one_count_off_does_not_balance(account: Account, fate: str, slip: int) -> None:
    assert account.balances
    assert not replace(account, **{fate: getattr(account, fate) + slip}).balances


@effort(100, 5_000)
@given(balanced())
def test_an_account_is_read_back_from_json(account: Account) -> None:
    assert Account.read(json.loads(json.dumps(account.document()))) == account


@pytest.mark.parametrize("document", [{"offsets": 1, "vanished": 1}, {"offsets": "1"}, {"offsets": True}])
def test_what_is_not_an_account_is_refused(document: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="not an account"):
        Account.read(document)


@effort(100, 5_000)
@given(replays())
def test_a_whole_replay_is_conserved(replay: tuple[tuple[Slice, ...], list[SliceAccount]]) -> None:
    slices, accounts = replay
    assert conservation(accounts, slices) == ()
    assert total(a.total for a in accounts).offsets == sum(s.width for s in slices)


@effort(100, 5_000)
@given(replays(), st.data())
def test_a_missing_slice_is_named_with_its_offsets(
    replay: tuple[tuple[Slice, ...], list[SliceAccount]], data: st.DataObject
) -> None:
    slices, accounts = replay
    gone = data.draw(st.sampled_from(accounts))
    found = conservation([a for a in accounts if a is not gone], slices)
    assert gone.slice.id in {imbalance.where for imbalance in found}
    holes = gone.slice.offsets.values()
    uncovered = {f"[{start}, {end}) is planned, and no staged slice covers it" for start, end in holes}
    assert uncovered <= {imbalance.what for imbalance in found}


@effort(100, 5_000)
@given(replays(), st.data())
def test_a_slice_twice_is_named(replay: tuple[tuple[Slice, ...], list[SliceAccount]], data: st.DataObject) -> None:
    slices, accounts = replay
    again = data.draw(st.sampled_from(accounts))
    found = conservation([*accounts, again], slices)
    assert {again.slice.id, *(f"partition {p}" for p in again.slice.offsets)} == {i.where for i in found}


@effort(100, 5_000)
@given(replays(), st.data())
def test_offsets_that_slipped_are_named(
    replay: tuple[tuple[Slice, ...], list[SliceAccount]], data: st.DataObject
) -> None:
    """A slice that read one offset too far, or began one too late, though its own sums agree."""
    slices, accounts = replay
    at = data.draw(st.integers(0, len(accounts) - 1))
    account = accounts[at]
    partition = data.draw(st.sampled_from(sorted(account.slice.offsets)))
    start, end = account.slice.offsets[partition]
    moved = data.draw(st.sampled_from([(start, end + 1), (start + 1, end)]))
    assume(moved[0] < moved[1])
    offsets = {**account.slice.offsets, partition: moved}
    entry = data.draw(balanced(moved[1] - moved[0]))
    accounts[at] = SliceAccount(Slice(account.slice.id, offsets), {**account.partitions, partition: entry})
    assert account.slice.id in {imbalance.where for imbalance in conservation(accounts, slices)}


@effort(100, 5_000)
@given(replays(), st.data())
def test_an_account_that_does_not_balance_is_named(
    replay: tuple[tuple[Slice, ...], list[SliceAccount]], data: st.DataObject
) -> None:
    slices, accounts = replay
    at = data.draw(st.integers(0, len(accounts) - 1))
    account = accounts[at]
    partition = data.draw(st.sampled_from(sorted(account.partitions)))
    wrong = replace(account.partitions[partition], filtered=account.partitions[partition].filtered + 1)
    accounts[at] = replace(account, partitions={**account.partitions, partition: wrong})
    assert [i.where for i in conservation(accounts, slices)] == [f"{account.slice.id}, partition {partition}"]


def test_an_account_narrower_than_its_offsets_is_named() -> None:
    slice_ = Slice("s00000", {0: (10, 20)})
    [found] = conservation([SliceAccount(slice_, {0: Account(9, output=9, rows=9)})], [slice_])
    assert found.what == "accounts for 9 offsets of [10, 20), 10 wide"


@pytest.mark.parametrize(
    ("staged", "holes"),
    [
        ((12, 20), ["[10, 12)"]),
        ((10, 17), ["[17, 20)"]),
        ((12, 17), ["[10, 12)", "[17, 20)"]),
        ((30, 40), ["[10, 20)"]),
    ],
)
def test_a_hole_is_named_wherever_it_is(staged: tuple[int, int], holes: list[str]) -> None:
    width = staged[1] - staged[0]
    account = SliceAccount(Slice("s00000", {0: staged}), {0: Account(width, output=width, rows=width)})
    found = conservation([account], [Slice("s00000", {0: (10, 20)})])
    assert [i.what.split(" is ")[0] for i in found if i.where == "partition 0"] == holes


def test_an_event_that_gave_a_row_cant_have_given_none() -> None:
    assert Account(10, output=10, rows=10).balances
    assert not Account(10, output=10, rows=9).balances


def test_a_partition_without_an_account_is_named() -> None:
    slice_ = Slice("s00000", {0: (10, 20), 1: (0, 5)})
    [found] = conservation([SliceAccount(slice_, {0: Account(10, output=10, rows=10)})], [slice_])
    assert found.where == "s00000, partition 1"


def test_catching_up_with_live_may_not_overlap_the_plan() -> None:
    plan = Slice("s00000", {0: (0, 10)})
    done = SliceAccount(plan, {0: Account(10, output=10, rows=10)})

    def caught_up(start: int, end: int) -> SliceAccount:
        width = end - start
        return SliceAccount(Slice("live-77", {0: (start, end)}), {0: Account(width, output=width, rows=width)})

    assert conservation([done, caught_up(10, 14)], [plan]) == ()
    [found] = conservation([done, caught_up(9, 14)], [plan])
    assert found.what == "[9, 10) is covered more than once"


def test_a_slice_nobody_planned_is_named() -> None:
    stray = SliceAccount(Slice("s00009", {3: (0, 1)}), {3: Account(1, output=1, rows=1)})
    [found] = conservation([stray], [])
    assert (found.where, found.what) == ("s00009", "in staging, and not planned")


@effort(100, 5_000)
@given(st.tuples(counts, counts, counts, counts), st.tuples(counts, counts, counts), counts)
def test_settling_balances_if_the_gap_is_what_is_missing(
    seen: tuple[int, int, int, int], gaps: tuple[int, int, int], start: int
) -> None:
    end = start + sum(seen) + sum(gaps)
    account = settled(start, end, seen, Gap(*gaps))
    assert account.balances
    assert (account.control, account.aborted, account.compacted) == gaps
    assert settled(start, end, seen, Gap()).balances == (not sum(gaps)), "nothing is a remainder"


def test_settling_hides_no_record_counted_twice() -> None:
    assert not settled(0, 10, (11, 0, 0, 0), Gap()).balances


def settled(start: int, end: int, seen: tuple[int, int, int, int], gap: Gap) -> Account:
    output, filtered, out_of_range, quarantined = seen
    return settle(
        start,
        end,
        output=output,
        filtered=filtered,
        out_of_range=out_of_range,
        quarantined=quarantined,
        rows=output * 2,
        gap=gap,
    )
