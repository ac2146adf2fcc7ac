"""The isolation certificate: consumer groups and ACLs before and after, and who moved what. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from anabranch.close.live_group import LiveGroup, Origin, Positions

REPLAY_PREFIX = "anabranch-replay"
"""What the names of a replay's own clients and groups begin with. No pipeline's group may."""


@dataclass(frozen=True)
class Group:
    """A consumer group as it was looked at: how far it has committed, and whether anybody is in it."""

    members: int
    offsets: Mapping[str, int]
    """By `topic/partition`."""


class Fate(str, Enum):
    UNCHANGED = "unchanged"
    MOVED_BY_MEMBERS = "moved by its own members"
    LIVE = "moved by live, to offsets that a commit of live records"
    NOT_LIVE = "moved to offsets that no commit of live records"
    UNKNOWN = "moved; no commit of live is there to compare its offsets with"
    APPEARED = "appeared"
    VANISHED = "vanished"
    MOVED_BY_NOBODY = "moved, though nobody was in it"
    OURS = "a replay's own group, which must not exist"


BREACHES = frozenset({Fate.MOVED_BY_NOBODY, Fate.OURS, Fate.NOT_LIVE})


class IsolationVerdict(str, Enum):
    HOLDS = "holds"
    BROKEN = "broken"
    UNKNOWN = "unknown"
    """Nothing is known to be broken, and something could not be compared."""


@dataclass(frozen=True)
class Acls:
    """The rules for the source topic and live's group, before and after; None where they could not be seen."""

    before: tuple[str, ...] | None = None
    after: tuple[str, ...] | None = None

    @property
    def changed(self) -> bool:
        """Whether they are known to be others now. The run changes none, so somebody else did."""
        return self.before is not None and self.after is not None and self.before != self.after

    def document(self) -> dict[str, object]:
        if self.before is None or self.after is None:
            return {"verdict": "could not be seen"}
        before, after = set(self.before), set(self.after)
        added, removed = sorted(after - before), sorted(before - after)
        return {"verdict": "changed", "added": added, "removed": removed} if self.changed else {"verdict": "unchanged"}


UNSEEN = Acls()


@dataclass(frozen=True)
class LiveOffsets:
    """The offsets of live's group on the source topic, and those that live's last commit records."""

    group: str
    before: Positions
    after: Positions
    recorded: Positions

    def document(self) -> dict[str, object]:
        numbers = {"before": self.before, "after": self.after, "recorded": self.recorded}
        return {"group": self.group, **{name: _by_name(each) for name, each in numbers.items()}}


def _by_name(positions: Positions) -> dict[str, int]:
    return {str(partition): offset for partition, offset in sorted(positions.items())}


@dataclass(frozen=True)
class Certificate:
    """What became of each group, and of the rights to what live reads, between the start and the end of a run."""

    fates: Mapping[str, Fate]
    main_untouched: bool
    """Whether main carried no commit of the run before its promotion."""
    acls: Acls = UNSEEN
    live: LiveOffsets | None = None
    """Live's group by the numbers, where it moved."""

    @property
    def verdict(self) -> IsolationVerdict:
        fates = set(self.fates.values())
        if not self.main_untouched or self.acls.changed or BREACHES & fates:
            return IsolationVerdict.BROKEN
        return IsolationVerdict.UNKNOWN if Fate.UNKNOWN in fates else IsolationVerdict.HOLDS

    @property
    def holds(self) -> bool:
        return self.verdict is IsolationVerdict.HOLDS

    def document(self) -> dict[str, object]:
        return {
            "verdict": self.verdict.value,
            "holds": self.holds,
            "main_untouched_before_promotion": self.main_untouched,
            "groups": {name: fate.value for name, fate in sorted(self.fates.items())},
            "acls": self.acls.document(),
            "live": None if self.live is None else self.live.document(),
        }


def certify(
    before: Mapping[str, Group],
    after: Mapping[str, Group],
    *,
    live_group: str,
    live: LiveGroup,
    main_untouched: bool,
    acls: Acls = UNSEEN,
) -> Certificate:
    """`live` must have been looked at after `after` was: live commits to the table before it commits to its group."""
    fates = {name: _fate(name, before.get(name), after.get(name)) for name in {*before, *after}}
    was, now = (live.committed(each[live_group].offsets if live_group in each else {}) for each in (before, after))
    if was == now or live_group not in after:
        return Certificate(fates, main_untouched, acls)
    moved = _LIVE_FATES[live.origin(was, now)]
    if moved is not Fate.LIVE or not _others_moved(before.get(live_group), after[live_group], live):
        fates[live_group] = moved
    return Certificate(fates, main_untouched, acls, LiveOffsets(live_group, was, now, live.newest))


_LIVE_FATES = {Origin.RECORDED: Fate.LIVE, Origin.NOT_RECORDED: Fate.NOT_LIVE, Origin.UNKNOWN: Fate.UNKNOWN}


def _others_moved(before: Group | None, after: Group, live: LiveGroup) -> bool:
    """Whether live's group moved on other topics too. Live commits to it for the source topic only."""
    former = {} if before is None else before.offsets
    moved = {name for name in {*former, *after.offsets} if former.get(name) != after.offsets.get(name)}
    return any(name.rpartition("/")[0] != live.topic for name in moved)


def _fate(name: str, before: Group | None, after: Group | None) -> Fate:
    if name.startswith(REPLAY_PREFIX):
        return Fate.OURS
    if before is None:
        return Fate.APPEARED
    if after is None:
        return Fate.VANISHED
    if before.offsets == after.offsets:
        return Fate.UNCHANGED
    return Fate.MOVED_BY_MEMBERS if before.members or after.members else Fate.MOVED_BY_NOBODY


def groups_document(groups: Mapping[str, Group]) -> dict[str, object]:
    return {name: {"members": group.members, "offsets": dict(group.offsets)} for name, group in groups.items()}


def read_groups(document: Mapping[str, Mapping[str, object]]) -> dict[str, Group]:
    """The reverse of `groups_document`."""
    return {name: Group(**group) for name, group in document.items()}  # type: ignore[arg-type]
