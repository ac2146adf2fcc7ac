"""Who may roll a run back: the contract's authority, the roles, or anyone by an override on record."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from anabranch.adapters.sql.store import SqlRunStore, open_store
from anabranch.gates.approval.roles import NotRollbackAuthorityError, rollback_overrides_of
from anabranch.gates.approval.rollback_authority import require_rollback_authority
from anabranch.project.sections.approval import RoleSettings
from anabranch.runs.ranges import TargetRange
from anabranch.runs.run import NewRun
from anabranch.runs.run_lease import LEASE_DURATION, RunLease

RUN = "r1"
NOBODY = RoleSettings()
NAMED = RoleSettings(rollback=("oncall", "dana"))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqlRunStore]:
    """A run whose contract names `team-lead`, and a check file that does not exist."""
    contract = {"spec": {"rollback": {"authority": "team-lead"}, "validation": {"knownRecords": "gone.jsonl"}}}
    with open_store(f"sqlite:///{tmp_path / 'runs.db'}") as opened:
        new = NewRun(RUN, "orders", TargetRange("shop.orders"), "c1", "p1", "ann", contract, {})
        opened.writer.submit(new, actor="ann")
        yield opened


def lease(store: SqlRunStore, actor: str) -> RunLease:
    taken = store.writer.acquire(RUN, "driver", LEASE_DURATION, actor=actor, take_over=True)
    return RunLease(store.reader, store.writer, RUN, taken.epoch, actor)


@pytest.mark.parametrize(
    ("roles", "actor"), [(NOBODY, "team-lead"), (NAMED, "team-lead"), (NAMED, "oncall"), (NAMED, "dana")]
)
def test_named_people_roll_back_without_an_override(store: SqlRunStore, roles: RoleSettings, actor: str) -> None:
    require_rollback_authority(lease(store, actor), roles, None)
    assert rollback_overrides_of(store.reader, RUN) == []


def test_an_override_of_a_person_who_needs_none_is_not_recorded(store: SqlRunStore) -> None:
    require_rollback_authority(lease(store, "oncall"), NAMED, "to be sure")
    assert rollback_overrides_of(store.reader, RUN) == []


@pytest.mark.parametrize(
    ("roles", "may"), [(NOBODY, "team-lead may roll back"), (NAMED, "oncall, dana or team-lead may roll back")]
)
def test_others_are_refused_with_the_names_and_the_command(store: SqlRunStore, roles: RoleSettings, may: str) -> None:
    with pytest.raises(NotRollbackAuthorityError) as refused:
        require_rollback_authority(lease(store, "ann"), roles, None)
    assert may in refused.value.what
    assert refused.value.command == f'anabranch rollback {RUN} --override --reason "…"'
    assert rollback_overrides_of(store.reader, RUN) == []


def test_an_override_is_recorded_with_its_reason_and_the_people_it_passed_over(store: SqlRunStore) -> None:
    require_rollback_authority(lease(store, "eve"), NAMED, "the sums are wrong")
    [recorded] = rollback_overrides_of(store.reader, RUN)
    assert (recorded["by"], recorded["reason"]) == ("eve", "the sums are wrong")
    [audited] = [each for each in store.reader.audit() if each.run_id == RUN and "override" in each.action]
    assert '"named":["oncall","dana","team-lead"]' in audited.details.replace(" ", "")
