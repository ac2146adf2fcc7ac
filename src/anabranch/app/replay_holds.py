"""What may hold a run before it starts and between slices, built from the project's settings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime, timezone

from anabranch.adapters.http.veto import ask_veto
from anabranch.adapters.sql.budget import SqlBudgetBoard
from anabranch.adapters.sql.pause_switch import SqlPauseSwitch
from anabranch.adapters.sql.store import SqlRunStore
from anabranch.app.project_context import ProjectContext
from anabranch.project.sections.veto import VetoSettings
from anabranch.replay.allowance import Allowance, RateSource
from anabranch.replay.budget_board import BudgetBoard, Heartbeat
from anabranch.replay.budget_claim import RunClaim, contract_schedule
from anabranch.replay.budget_member import BudgetMember
from anabranch.replay.budget_shares import ReplayBudget
from anabranch.replay.hours_source import HoursSource
from anabranch.replay.pause_all import PauseSwitch, pause_all_source
from anabranch.replay.polled_source import PolledSource
from anabranch.runs.run_lease import RunLease


@contextmanager
def replay_holds(
    project_context: ProjectContext, store: SqlRunStore, lease: RunLease
) -> Iterator[Sequence[RateSource]]:
    """The sources, each at work until the exit."""
    with ExitStack() as working:
        sources: list[RateSource] = []
        paused = pause_all_source(pause_switch(store), project_context.loaded.context)
        sources.append(working.enter_context(paused))
        schedule, veto = contract_schedule(lease), project_context.loaded.settings.veto
        if schedule is not None and schedule.hours is not None:
            sources.append(HoursSource(schedule.hours, lambda: datetime.now(timezone.utc)))
        if veto is not None:
            sources.append(working.enter_context(_veto_source(veto, lease)))
        budget = configured_budget(project_context)
        if budget is not None:
            sources.append(working.enter_context(_member(project_context, store, lease, budget, tuple(sources))))
        yield sources


def _veto_source(settings: VetoSettings, lease: RunLease) -> PolledSource:
    timeout, every = settings.timeout.total_seconds(), settings.every.total_seconds()
    names = {"Anabranch-Run": lease.run_id, "Anabranch-Pipeline": lease.run.pipeline}

    def ask() -> Allowance:
        token = {} if settings.token is None else {"Authorization": f"Bearer {settings.token.reveal()}"}
        return ask_veto(settings.url, {**names, **token}, timeout)

    return PolledSource("veto", ask, every=every, patience=2 * (every + timeout))


def configured_budget(project_context: ProjectContext) -> ReplayBudget | None:
    settings = project_context.loaded.settings.replay_budget
    return None if settings is None else ReplayBudget(settings.bytes_per_second, settings.runs)


def pause_switch(store: SqlRunStore) -> PauseSwitch:
    return SqlPauseSwitch(store.engine, store.writer.clock)


def budget_board(store: SqlRunStore) -> BudgetBoard:
    return SqlBudgetBoard(store.engine, store.writer.clock)


def _member(
    project_context: ProjectContext,
    store: SqlRunStore,
    lease: RunLease,
    budget: ReplayBudget,
    holds: Sequence[RateSource],
) -> BudgetMember:
    schedule = contract_schedule(lease)
    deadline = None if schedule is None else schedule.deadline
    beat = Heartbeat(lease.run_id, lease.epoch, project_context.loaded.context, budget, deadline)
    return BudgetMember(budget_board(store), beat, RunClaim(lease), holds=holds)
