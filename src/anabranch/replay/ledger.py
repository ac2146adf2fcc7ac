"""The ledger: what became of every offset, slice by slice and partition by partition, and whether the sums agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, fields
from functools import reduce
from operator import add

from anabranch.errors import AnabranchError, ExitCode
from anabranch.plan.slices import Slice
from anabranch.replay.gaps import NO_GAP, Gap
from anabranch.replay.late import NONE_LATE, LateEvents

CATCH_UP = "live-"
"""How the id of a slice begins that replays a live commit made after the base. No plan has such slices."""
UNSTAGED = "Production unchanged. Earlier slices are staged; this slice is not."
"""The state in which a slice that fails leaves everything."""


class LedgerError(AnabranchError):
    """What was counted of a slice is not what its offsets hold. The slice is not committed."""

    code = "replay.ledger"
    exit_code = ExitCode.GUARDED


@dataclass(frozen=True)
class Account:
    """What became of the offsets of one partition in one slice. Each offset has exactly one fate."""

    offsets: int = 0
    """end − start: markers and compacted records have offsets too."""
    output: int = 0
    """Events that gave at least one row."""
    filtered: int = 0
    """Events in the range that gave no row, tombstones among them."""
    out_of_range: int = 0
    quarantined: int = 0
    control: int = 0
    """Commit and abort markers of transactions."""
    aborted: int = 0
    """Records of aborted transactions."""
    compacted: int = 0
    lost: int = 0
    """Deleted by retention before they were read."""
    superseded: int = 0
    """Events that a later one of the same key in the same slice has replaced, or gone on from."""
    windowed: int = 0
    """Events that windows of the range were computed from. Which of them a row owes itself to, a sum does not say."""
    rows: int = 0
    """Rows written, and in a table by key rows deleted. Not a fate: one event may give several rows."""

    def __add__(self, other: Account) -> Account:
        return Account(*(mine + theirs for mine, theirs in zip(astuple(self), astuple(other), strict=True)))

    @property
    def fates(self) -> dict[str, int]:
        """Every fate and how many offsets had it, in the order of the ledger."""
        return {fate: getattr(self, fate) for fate in FATES}

    @property
    def balances(self) -> bool:
        """Every offset has one fate, no count is negative, and rows come from events that gave some."""
        counted = astuple(self)
        return self.offsets == sum(self.fates.values()) and min(counted) >= 0 and self.rows >= self.output

    def document(self) -> dict[str, int]:
        """The counts that are not zero, since it travels in a snapshot's properties."""
        return {name: count for name, count in asdict(self).items() if count}

    @classmethod
    def read(cls, document: Mapping[str, int]) -> Account:
        """The reverse of `document`. An unknown count is refused: left out, it would make false sums agree."""
        strange = [name for name, count in document.items() if name not in _FIELDS or type(count) is not int]
        if strange:
            raise ValueError(f"this is not an account: {', '.join(strange)}")
        return cls(**document)


_FIELDS = tuple(field.name for field in fields(Account))
FATES = tuple(name for name in _FIELDS if name not in ("offsets", "rows"))


@dataclass(frozen=True)
class SliceAccount:
    """A committed slice and what became of its offsets, by partition."""

    slice: Slice
    partitions: Mapping[int, Account]
    late: LateEvents = NONE_LATE

    @property
    def total(self) -> Account:
        return total(self.partitions.values())


def total(accounts: Iterable[Account]) -> Account:
    return reduce(add, accounts, Account())


def settle(
    start: int,
    end: int,
    *,
    output: int,
    filtered: int,
    out_of_range: int,
    quarantined: int,
    rows: int,
    gap: Gap = NO_GAP,
    superseded: int = 0,
    windowed: int = 0,
) -> Account:
    """The account of [start, end) from what was counted and what the log says of the offsets without a record.

    Nothing is a remainder: an offset that neither of them explains leaves an account that does not balance.
    """
    return Account(
        offsets=end - start,
        output=output,
        filtered=filtered,
        out_of_range=out_of_range,
        quarantined=quarantined,
        control=gap.control,
        aborted=gap.aborted,
        compacted=gap.compacted,
        lost=gap.lost,
        superseded=superseded,
        windowed=windowed,
        rows=rows,
    )


@dataclass(frozen=True)
class Imbalance:
    """One reason why the sums don't agree."""

    where: str
    """A slice, or a partition of the topic."""
    what: str


def conservation(accounts: Sequence[SliceAccount], slices: Sequence[Slice]) -> tuple[Imbalance, ...]:
    """Every reason why the accounts are not the plan's slices, each once, with sums that agree; none: all is well.

    Slices that caught up with live commits come after the plan's offsets: they may not overlap anything.
    """
    return (*_slices_once(accounts, slices), *_sums(accounts), *_tiling(accounts, slices))


def _slices_once(accounts: Sequence[SliceAccount], slices: Sequence[Slice]) -> Iterator[Imbalance]:
    planned = {each.id: each for each in slices}
    times = Counter(account.slice.id for account in accounts)
    for slice_id in planned:
        if times[slice_id] == 0:
            yield Imbalance(slice_id, "planned, and not in staging")
    for slice_id, count in times.items():
        if count > 1:
            yield Imbalance(slice_id, f"in staging {count} times")
        if slice_id not in planned and not slice_id.startswith(CATCH_UP):
            yield Imbalance(slice_id, "in staging, and not planned")
    for account in accounts:
        plan = planned.get(account.slice.id)
        if plan is not None and dict(plan.offsets) != dict(account.slice.offsets):
            yield Imbalance(plan.id, f"staged with offsets {_text(account.slice)}, planned with {_text(plan)}")


def _sums(accounts: Sequence[SliceAccount]) -> Iterator[Imbalance]:
    for account in accounts:
        slice_id, offsets = account.slice.id, account.slice.offsets
        for partition in sorted(set(offsets) ^ set(account.partitions)):
            yield Imbalance(f"{slice_id}, partition {partition}", "has offsets or an account, and not both")
        for partition, entry in sorted(account.partitions.items()):
            where = f"{slice_id}, partition {partition}"
            if partition in offsets and entry.offsets != offsets[partition][1] - offsets[partition][0]:
                start, end = offsets[partition]
                yield Imbalance(where, f"accounts for {entry.offsets} offsets of [{start}, {end}), {end - start} wide")
            if not entry.balances:
                fates = ", ".join(f"{fate} {count}" for fate, count in entry.fates.items() if count)
                yield Imbalance(where, f"{entry.offsets} offsets, but {fates or 'no fates'}; rows {entry.rows}")


def _tiling(accounts: Sequence[SliceAccount], slices: Sequence[Slice]) -> Iterator[Imbalance]:
    """The staged offsets cover the planned ones with no gap, and no offset is covered twice."""
    staged, planned = _by_partition(a.slice for a in accounts), _by_partition(slices)
    for partition in sorted(staged.keys() | planned.keys()):
        where = f"partition {partition}"
        pieces = staged.get(partition, [])
        reached = 0
        for start, end in pieces:
            if start < reached:
                yield Imbalance(where, f"[{start}, {min(end, reached)}) is covered more than once")
            reached = max(reached, end)
        for start, end in _uncovered(planned.get(partition, []), pieces):
            yield Imbalance(where, f"[{start}, {end}) is planned, and no staged slice covers it")


def _by_partition(slices: Iterable[Slice]) -> dict[int, list[tuple[int, int]]]:
    found: dict[int, list[tuple[int, int]]] = {}
    for each in slices:
        for partition, slice_ in each.offsets.items():
            found.setdefault(partition, []).append(slice_)
    return {partition: sorted(pieces) for partition, pieces in found.items()}


def _uncovered(wanted: Sequence[tuple[int, int]], pieces: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    for start, end in wanted:
        at = start
        for piece_start, piece_end in pieces:
            if piece_end <= at or piece_start >= end:
                continue
            if piece_start > at:
                yield at, piece_start
            at = max(at, piece_end)
        if at < end:
            yield at, end


def _text(slice_: Slice) -> str:
    return ", ".join(f"{p}: [{start}, {end})" for p, (start, end) in sorted(slice_.offsets.items()))
