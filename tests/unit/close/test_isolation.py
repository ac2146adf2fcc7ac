"""The isolation certificate: what breaks it, and what is somebody else's business."""

from __future__ import annotations

import pytest

from anabranch.close.isolation import ACLS_UNKNOWN, Acls, Certificate, Fate, IsolationVerdict, certify
from anabranch.close.live_group import LiveGroup
from anabranch.contract.consumer_groups import ConsumerGroup

BEFORE = {
    "live": ConsumerGroup(1, {"t/0": 5}),
    "billing": ConsumerGroup(0, {"t/0": 7}),
    "reports": ConsumerGroup(2, {"t/0": 1}),
}
LIVE = LiveGroup("t", [{0: (8, 9)}, {0: (5, 8)}])
RULES = ("allow read on topic t (literal) for User:live from *",)


@pytest.mark.parametrize(
    ("name", "after", "fate", "holds"),
    [
        ("live", ConsumerGroup(0, {"t/0": 9}), Fate.LIVE, True),
        ("live", ConsumerGroup(0, {"t/0": 8}), Fate.LIVE, True),
        ("live", ConsumerGroup(1, {"t/0": 7}), Fate.NOT_LIVE, False),
        ("live", ConsumerGroup(0, {"t/0": 9, "other/0": 3}), Fate.MOVED_BY_MEMBERS, True),
        ("live", ConsumerGroup(0, {"t/0": 6, "other/0": 3}), Fate.NOT_LIVE, False),
        ("billing", ConsumerGroup(0, {"t/0": 7}), Fate.UNCHANGED, True),
        ("billing", ConsumerGroup(0, {"t/0": 8}), Fate.MOVED_WITHOUT_MEMBERS, False),
        ("reports", ConsumerGroup(2, {"t/0": 8}), Fate.MOVED_BY_MEMBERS, True),
        ("reports", None, Fate.DISAPPEARED, True),
        ("new", ConsumerGroup(1, {}), Fate.APPEARED, True),
        ("anabranch-replay-r1", ConsumerGroup(0, {}), Fate.REPLAY_GROUP, False),
    ],
)
def test_groups(name: str, after: ConsumerGroup | None, fate: Fate, holds: bool) -> None:
    now = {**BEFORE, name: after}
    found = certified(BEFORE, {key: group for key, group in now.items() if group})
    assert (found.fates[name], found.holds) == (fate, holds)


@pytest.mark.parametrize(
    ("acls", "holds", "said"),
    [
        (Acls(RULES, RULES), True, {"verdict": "unchanged"}),
        (Acls((), ()), True, {"verdict": "unchanged"}),
        (Acls(None, RULES), True, {"verdict": "not readable"}),
        (Acls(RULES, None), True, {"verdict": "not readable"}),
        (Acls(RULES, ()), False, {"verdict": "changed", "added": [], "removed": list(RULES)}),
        (Acls((), RULES), False, {"verdict": "changed", "added": list(RULES), "removed": []}),
    ],
)
def test_rights_to_what_live_reads(acls: Acls, holds: bool, said: dict[str, object]) -> None:
    found = certified(BEFORE, BEFORE, acls=acls)
    assert (found.holds, found.document()["acls"]) == (holds, said)


def test_a_commit_on_main_before_the_promotion() -> None:
    assert not certify(BEFORE, BEFORE, live_group="live", live=LIVE, main_untouched=False).holds


def certified(
    before: dict[str, ConsumerGroup], after: dict[str, ConsumerGroup], live: LiveGroup = LIVE, acls: Acls = ACLS_UNKNOWN
) -> Certificate:
    return certify(before, after, live_group="live", live=live, main_untouched=True, acls=acls)


COMMITS = [{0: (60, 80), 1: (6, 8)}, {0: (40, 60), 1: (4, 6)}, {0: (20, 40), 1: (2, 4)}]
"""Of live, newest first; the ones before them have expired."""


@pytest.mark.parametrize(
    ("was", "now", "fate"),
    [
        ({0: 20, 1: 2}, {0: 80, 1: 8}, Fate.LIVE),
        ({0: 20, 1: 2}, {0: 60, 1: 6}, Fate.LIVE),
        ({0: 10, 1: 1}, {0: 20, 1: 2}, Fate.LIVE),
        ({}, {0: 80, 1: 8}, Fate.LIVE),
        ({0: 99, 1: 8}, {0: 80, 1: 8}, Fate.LIVE),
        ({0: 20, 1: 2}, {0: 81, 1: 8}, Fate.NOT_LIVE),
        ({0: 20, 1: 2}, {0: 79, 1: 8}, Fate.NOT_LIVE),
        ({0: 20, 1: 2}, {0: 60, 1: 8}, Fate.NOT_LIVE),
        ({0: 20, 1: 2}, {0: 80}, Fate.NOT_LIVE),
        ({0: 20, 1: 2}, {0: 80, 1: 8, 2: 1}, Fate.NOT_LIVE),
        ({0: 60, 1: 6}, {0: 40, 1: 4}, Fate.NOT_LIVE),
        ({0: 60, 1: 6}, {0: 0, 1: 6}, Fate.NOT_LIVE),
        ({0: 10, 1: 1}, {0: 15, 1: 1}, Fate.UNKNOWN),
        ({}, {0: 15, 1: 1}, Fate.UNKNOWN),
    ],
)
def test_offsets_of_lives_group_are_those_of_lives_commits(
    was: dict[int, int], now: dict[int, int], fate: Fate
) -> None:
    found = certified(_live(was), _live(now), LiveGroup("t", COMMITS))
    assert found.fates["live"] is fate
    assert found.document()["live"] == {
        "group": "live",
        "before": {str(partition): offset for partition, offset in was.items()},
        "after": {str(partition): offset for partition, offset in now.items()},
        "recorded": {"0": 80, "1": 8},
    }


def test_without_commits_of_live_that_its_group_moved_is_neither_right_nor_wrong() -> None:
    found = certified(_live({0: 1}), _live({0: 2}), LiveGroup("t"))
    assert (found.verdict, found.holds) == (IsolationVerdict.UNKNOWN, False)
    assert certified(_live({0: 1}), _live({0: 1}), LiveGroup("t")).verdict is IsolationVerdict.HOLDS
    broken = {**_live({0: 2}), "anabranch-replay-r1": ConsumerGroup(0, {})}
    assert certified(_live({0: 1}), broken, LiveGroup("t")).verdict is IsolationVerdict.BROKEN


def _live(positions: dict[int, int]) -> dict[str, ConsumerGroup]:
    return {"live": ConsumerGroup(0, {f"t/{partition}": offset for partition, offset in positions.items()})}
