"""What a run says about its part in the replay budget: by its contract, its operators and its state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from anabranch.contract.backfill import Budget, Schedule
from anabranch.replay.budget_member import Claim
from anabranch.replay.controls import ControlRecords, read_controls
from anabranch.runs.run_lease import RunLease
from anabranch.runs.states import State


class RunClaim:
    """The claim of one process's run, read again at each call."""

    def __init__(self, lease: RunLease) -> None:
        self._lease = lease
        self._rate = contract_rate(lease)
        self._has_replayed = False
        self._requests = ControlRecords()

    def __call__(self) -> Claim:
        controls = read_controls(self._requests.read(self._lease.reader, self._lease.run_id), self._rate)
        state = self._lease.run.state
        self._has_replayed = self._has_replayed or state is State.REPLAYING
        # A run that is retried is paused until its first slice begins, and wants its turn for that.
        paused = self._has_replayed and state is State.PAUSED
        return Claim(controls.bytes_per_second, paused, exempt="budget" in controls.exemptions)


def contract_rate(lease: RunLease) -> int | None:
    budget = _spec(lease).get("budget")
    return None if budget is None else Budget.model_validate(budget).bytes_per_second


def contract_schedule(lease: RunLease) -> Schedule | None:
    schedule = _spec(lease).get("schedule")
    return None if schedule is None else Schedule.model_validate(schedule)


def _spec(lease: RunLease) -> Mapping[str, Any]:
    """As it was submitted: other parts of the contract need not load before drift is checked."""
    return cast(Mapping[str, Any], lease.reader.documents(lease.run_id).contract["spec"])
