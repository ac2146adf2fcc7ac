"""The isolation certificate: consumer groups before and after, and who moved what. Pure."""

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
class Certificate:
    """What became of each group between the start and the end of a run."""

    fates: Mapping[str, Fate]
    main_untouched: bool
    """Whether main carried no commit of the run before its promotion."""

    @property
    def holds(self) -> bool:
        return self.main_untouched and not BREACHES & set(self.fates.values())

    def document(self) -> dict[str, object]:
        return {
            "holds": self.holds,
            "main_untouched_before_promotion": self.main_untouched,
            "groups": {name: fate.value for name, fate in sorted(self.fates.items())},
        }


def certify(
    before: Mapping[str, Group], after: Mapping[str, Group], *, live_group: str, main_untouched: bool
) -> Certificate:
    fates = {name: _fate(name, before.get(name), after.get(name), live_group) for name in {*before, *after}}
    return Certificate(fates, main_untouched)


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
