"""The isolation certificate: consumer groups and ACLs before and after, and who moved what. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

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
    LIVE = "moved by the live pipeline itself"
    APPEARED = "appeared"
    VANISHED = "vanished"
    MOVED_BY_NOBODY = "moved, though nobody was in it"
    OURS = "a replay's own group, which must not exist"


BREACHES = frozenset({Fate.MOVED_BY_NOBODY, Fate.OURS})


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
class Certificate:
    """What became of each group, and of the rights to what live reads, between the start and the end of a run."""

    fates: Mapping[str, Fate]
    main_untouched: bool
    """Whether main carried no commit of the run before its promotion."""
    acls: Acls = UNSEEN

    @property
    def holds(self) -> bool:
        return self.main_untouched and not self.acls.changed and not BREACHES & set(self.fates.values())

    def document(self) -> dict[str, object]:
        return {
            "holds": self.holds,
            "main_untouched_before_promotion": self.main_untouched,
            "groups": {name: fate.value for name, fate in sorted(self.fates.items())},
            "acls": self.acls.document(),
        }


def certify(
    before: Mapping[str, Group],
    after: Mapping[str, Group],
    *,
    live_group: str,
    main_untouched: bool,
    acls: Acls = UNSEEN,
) -> Certificate:
    fates = {name: _fate(name, before.get(name), after.get(name), live_group) for name in {*before, *after}}
    return Certificate(fates, main_untouched, acls)


def _fate(name: str, before: Group | None, after: Group | None, live_group: str) -> Fate:
    if name.startswith(REPLAY_PREFIX):
        return Fate.OURS
    if before is None:
        return Fate.APPEARED
    if after is None:
        return Fate.VANISHED
    if before.offsets == after.offsets:
        return Fate.UNCHANGED
    if name == live_group:
        return Fate.LIVE
    return Fate.MOVED_BY_MEMBERS if before.members or after.members else Fate.MOVED_BY_NOBODY


def groups_document(groups: Mapping[str, Group]) -> dict[str, object]:
    return {name: {"members": group.members, "offsets": dict(group.offsets)} for name, group in groups.items()}


def read_groups(document: Mapping[str, Mapping[str, object]]) -> dict[str, Group]:
    """The reverse of `groups_document`."""
    return {name: Group(**group) for name, group in document.items()}  # type: ignore[arg-type]
