"""Roles: who may what, and that a role with nobody named is open."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone

import pytest

from anabranch.errors import AnabranchError
from anabranch.gates.approval.roles import (
    needs_override,
    not_rollback_authority,
    require_approver,
    require_operator,
    require_promoter,
)
from anabranch.project.sections.approval import RoleSettings
from anabranch.runs.ranges import TargetRange
from anabranch.runs.run import Run
from anabranch.runs.states import State

AT = datetime(2025, 7, 1, tzinfo=timezone.utc)
RUN = Run("r1", "orders", TargetRange("shop.orders", None, None), "c1", "p1", "ann", State.VALIDATED, 1, AT, AT)
OPEN = RoleSettings()
NAMED = RoleSettings(approvers=("bob", "ann"), operators=("ops",), rollback=("oncall",))


def approve(roles: RoleSettings, who: str, *, another: bool = True) -> None:
    require_approver(roles, who, "ann", another=another)


def promote(roles: RoleSettings, who: str, *, author_may: bool = True) -> None:
    require_promoter(roles, who, RUN, author_may=author_may)


def refusal(act: Callable[[], None]) -> AnabranchError | None:
    try:
        act()
    except AnabranchError as refused:
        return refused
    return None


@pytest.mark.parametrize(
    "act",
    [
        lambda: approve(OPEN, "anybody"),
        lambda: approve(NAMED, "bob"),
        lambda: approve(NAMED, "ann", another=False),
        lambda: promote(OPEN, "ann"),
        lambda: promote(OPEN, "anybody", author_may=False),
        lambda: promote(NAMED, "ops"),
        lambda: require_operator(OPEN, "anybody", RUN, "cancel"),
        lambda: require_operator(NAMED, "ops", RUN, "cancel"),
        lambda: require_operator(NAMED, "ann", RUN, "cancel"),
        lambda: require_approver(NAMED, "bob", None, another=True),
    ],
)
def test_what_the_roles_allow(act: Callable[[], None]) -> None:
    assert refusal(act) is None


def test_what_they_refuse_and_whom_they_name() -> None:
    refused: list[tuple[Callable[[], None], str, str]] = [
        (lambda: approve(OPEN, "ann"), "approval.by-author", "a colleague"),
        (lambda: approve(NAMED, "ann"), "approval.by-author", "bob or ann"),
        (lambda: approve(NAMED, "eve"), "approval.not-approver", "bob or ann"),
        (lambda: promote(OPEN, "ann", author_may=False), "promote.by-author", "a colleague"),
        (lambda: promote(NAMED, "ann"), "roles.not-operator", "ops"),
        (lambda: promote(NAMED, "eve"), "roles.not-operator", "ops"),
        (lambda: require_operator(NAMED, "eve", RUN, "cancel"), "roles.not-operator", "ops"),
    ]
    for act, code, named in refused:
        with pytest.raises(AnabranchError) as error:
            act()
        assert error.value.code == code
        assert named in error.value.what + error.value.remedy


def test_a_rollback_is_for_whom_roles_or_contract_name_and_an_override_for_all_others() -> None:
    assert not needs_override(OPEN, "lead", "lead")
    assert needs_override(OPEN, "lead", "anybody"), "the contract counts where the context names nobody"
    assert not needs_override(NAMED, "lead", "oncall")
    assert not needs_override(NAMED, "lead", "lead")
    assert needs_override(NAMED, "lead", "ops")
    error = not_rollback_authority(NAMED, "lead", "ops", RUN)
    assert "oncall or lead may roll back" in error.what
    assert "anabranch rollback r1 --override --reason" in error.remedy
