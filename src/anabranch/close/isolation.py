"""The isolation certificate: compares consumer groups, offsets and ACLs before and after a run. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from anabranch.close.live_group import LiveGroup, Origin, Positions
from anabranch.contract.consumer_groups import REPLAY_PREFIX, ConsumerGroup
from anabranch.plan.steps import RecordIsolation
from anabranch.promote.history import Author
from anabranch.runs.journal import JournalEntry


class Fate(str, Enum):
    """What happened to one consumer group during the run. The texts are stored in the closure record."""

    UNCHANGED = "unchanged"
    MOVED_BY_MEMBERS = "moved by its own members"
    LIVE = "moved by live, to offsets that a commit of live records"
    NOT_LIVE = "moved to offsets that no commit of live records"
    UNKNOWN = "moved; the table has no commit of live to compare its offsets with"
    APPEARED = "appeared"
    DISAPPEARED = "disappeared"
    MOVED_WITHOUT_MEMBERS = "moved while it had no members"
    REPLAY_GROUP = "a replay's own group, which must not exist"


BREACHES = frozenset({Fate.MOVED_WITHOUT_MEMBERS, Fate.REPLAY_GROUP, Fate.NOT_LIVE})


class IsolationVerdict(str, Enum):
    HOLDS = "holds"
    BROKEN = "broken"
    UNKNOWN = "unknown"
    """No breach was found, but at least one group could not be compared."""


@dataclass(frozen=True)
class Acls:
    """ACLs of the source topic and of live's group, before and after; None where this user may not read them."""

    before: tuple[str, ...] | None = None
    after: tuple[str, ...] | None = None

    @property
    def changed(self) -> bool:
        """Whether both were read and they differ. The run changes no ACL, so another program did."""
        return self.before is not None and self.after is not None and self.before != self.after

    def document(self) -> dict[str, object]:
        if self.before is None or self.after is None:
            return {"verdict": "not readable"}
        before, after = set(self.before), set(self.after)
        added, removed = sorted(after - before), sorted(before - after)
        return {"verdict": "changed", "added": added, "removed": removed} if self.changed else {"verdict": "unchanged"}


ACLS_UNKNOWN = Acls()


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
    """Changes of consumer groups and of ACLs of live's topic and group between the start and the end of a run."""

    fates: Mapping[str, Fate]
    main_untouched: bool
    """Whether main carried no commit of the run before its promotion."""
    acls: Acls = ACLS_UNKNOWN
    live: LiveOffsets | None = None
    """Offsets of live's group; None if they did not change."""

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
    before: Mapping[str, ConsumerGroup],
    after: Mapping[str, ConsumerGroup],
    *,
    live_group: str,
    live: LiveGroup,
    main_untouched: bool,
    acls: Acls = ACLS_UNKNOWN,
) -> Certificate:
    """Compare the groups. Read `live` after `after`: live commits to the table first, then to its group."""
    fates = {name: _fate(name, before.get(name), after.get(name)) for name in {*before, *after}}
    offsets_before, offsets_after = (
        live.committed(each[live_group].offsets if live_group in each else {}) for each in (before, after)
    )
    if offsets_before == offsets_after or live_group not in after:
        return Certificate(fates, main_untouched, acls)
    moved = _LIVE_FATES[live.origin(offsets_before, offsets_after)]
    if moved is not Fate.LIVE or not _others_moved(before.get(live_group), after[live_group], live):
        fates[live_group] = moved
    return Certificate(fates, main_untouched, acls, LiveOffsets(live_group, offsets_before, offsets_after, live.newest))


_LIVE_FATES = {Origin.RECORDED: Fate.LIVE, Origin.NOT_RECORDED: Fate.NOT_LIVE, Origin.UNKNOWN: Fate.UNKNOWN}


def _others_moved(before: ConsumerGroup | None, after: ConsumerGroup, live: LiveGroup) -> bool:
    """Whether live's group also moved on other topics. Live commits offsets of the source topic only."""
    former = {} if before is None else before.offsets
    moved = {name for name in {*former, *after.offsets} if former.get(name) != after.offsets.get(name)}
    return any(name.rpartition("/")[0] != live.topic for name in moved)


def _fate(name: str, before: ConsumerGroup | None, after: ConsumerGroup | None) -> Fate:
    if name.startswith(REPLAY_PREFIX):
        return Fate.REPLAY_GROUP
    if before is None:
        return Fate.APPEARED
    if after is None:
        return Fate.DISAPPEARED
    if before.offsets == after.offsets:
        return Fate.UNCHANGED
    return Fate.MOVED_BY_MEMBERS if before.members or after.members else Fate.MOVED_WITHOUT_MEMBERS


@dataclass(frozen=True)
class IsolationBefore:
    """What was observed before a run read its first record; empty if it never came to read."""

    groups: Mapping[str, ConsumerGroup] = field(default_factory=dict)
    acls: tuple[str, ...] | None = None
    """None where this user may not read them."""

    def document(self) -> dict[str, object]:
        groups = {name: {"members": each.members, "offsets": dict(each.offsets)} for name, each in self.groups.items()}
        return {"groups": groups, "acls": None if self.acls is None else list(self.acls)}

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> IsolationBefore:
        """The reverse of `document`."""
        acls = document.get("acls")
        groups = {name: ConsumerGroup(**group) for name, group in document.get("groups", {}).items()}
        return cls(groups, None if acls is None else tuple(acls))


def isolation_before(journal: Iterable[JournalEntry]) -> IsolationBefore:
    """As the run's journal recorded it."""
    recorded = (entry.details for entry in journal if entry.step == RecordIsolation.name)
    return IsolationBefore.read(next(recorded, {}))


def main_untouched(authors: Collection[Author]) -> bool:
    """Whether every commit of the run on main is a promotion or a rollback."""
    return set(authors) <= {Author.PROMOTION, Author.ROLLBACK}
