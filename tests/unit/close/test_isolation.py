"""The isolation certificate: what breaks it, and what is somebody else's business."""

from __future__ import annotations

import pytest

from anabranch.close.isolation import Acls, Fate, Group, certify

BEFORE = {"live": Group(1, {"t/0": 5}), "billing": Group(0, {"t/0": 7}), "reports": Group(2, {"t/0": 1})}
RULES = ("allow read on topic t (literal) for User:live from *",)


@pytest.mark.parametrize(
    ("name", "after", "fate", "holds"),
    [
        ("live", Group(1, {"t/0": 9}), Fate.LIVE, True),
        ("billing", Group(0, {"t/0": 7}), Fate.UNCHANGED, True),
        ("billing", Group(0, {"t/0": 8}), Fate.MOVED_BY_NOBODY, False),
        ("reports", Group(2, {"t/0": 8}), Fate.MOVED_BY_MEMBERS, True),
        ("reports", None, Fate.VANISHED, True),
        ("new", Group(1, {}), Fate.APPEARED, True),
        ("anabranch-replay-r1", Group(0, {}), Fate.OURS, False),
    ],
)
def test_groups(name: str, after: Group | None, fate: Fate, holds: bool) -> None:
    now = {**BEFORE, name: after}
    found = certify(BEFORE, {key: group for key, group in now.items() if group}, live_group="live", main_untouched=True)
    assert (found.fates[name], found.holds) == (fate, holds)


@pytest.mark.parametrize(
    ("acls", "holds", "said"),
    [
        (Acls(RULES, RULES), True, {"verdict": "unchanged"}),
        (Acls((), ()), True, {"verdict": "unchanged"}),
        (Acls(None, RULES), True, {"verdict": "could not be seen"}),
        (Acls(RULES, None), True, {"verdict": "could not be seen"}),
        (Acls(RULES, ()), False, {"verdict": "changed", "added": [], "removed": list(RULES)}),
        (Acls((), RULES), False, {"verdict": "changed", "added": list(RULES), "removed": []}),
    ],
)
def test_rights_to_what_live_reads(acls: Acls, holds: bool, said: dict[str, object]) -> None:
    found = certify(BEFORE, BEFORE, live_group="live", main_untouched=True, acls=acls)
    assert (found.holds, found.document()["acls"]) == (holds, said)


def test_a_commit_on_main_before_the_promotion() -> None:
    assert not certify(BEFORE, BEFORE, live_group="live", main_untouched=False).holds
