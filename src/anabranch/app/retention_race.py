"""Builds the race against retention on a project's cluster: for plans, for gates, and while a replay reads."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timezone

from anabranch.adapters.kafka.retention import KafkaRetention
from anabranch.adapters.kafka.topic_retention import KafkaTopicRetention
from anabranch.adapters.sql.store import SqlRunStore, StoreAbsentError
from anabranch.app.project_context import ProjectContext
from anabranch.app.replay_holds import budget_board, configured_budget
from anabranch.contract.backfill import Backfill
from anabranch.contract.consumer_groups import REPLAY_PREFIX
from anabranch.gates.checks.storage_path import recorded_rate
from anabranch.plan.forecast.rehearsed import variants_of
from anabranch.plan.plan import Plan
from anabranch.plan.planner import Planned
from anabranch.plan.retention.planning import race_options
from anabranch.plan.retention.rate import ReplayRate
from anabranch.promote.approved import RunApproval, extension_withheld
from anabranch.readiness.rehearsals import rate_of_planned
from anabranch.replay import retention_sweep
from anabranch.replay.retention_extension import STEP, ExtensionIntent, RetentionExtension
from anabranch.replay.retention_guard import RetentionGuard, SliceOrder, guarding
from anabranch.replay.retention_share import NoShare, PriorityShare, ShareControl
from anabranch.runs.lease_holder import take_run_lease
from anabranch.runs.run_lease import RunLease, RunStore
from anabranch.runs.store import RunReader

CLIENT_ID = "anabranch-retention"


def now_utc() -> datetime:
    return datetime.now(timezone.utc)


def planned_rate_of(project_context: ProjectContext, planned: Planned, now: datetime) -> ReplayRate | None:
    """By the last valid rehearsal or the contract's rate, where there may be no database yet."""
    try:
        with project_context.store(create=False) as store:
            return rate_of_planned(store.reader, planned, now)
    except StoreAbsentError:
        return rate_of_planned(None, planned, now)


def withheld(project_context: ProjectContext, reader: RunReader, plan: Plan, run: str | None) -> str | None:
    """Why an extension that the contract permits may not be used now; None: it may."""
    loaded = project_context.loaded
    approval = None if run is None else RunApproval(reader, run, plan, loaded.settings, loaded.context)
    return extension_withheld(approval, loaded.settings, now_utc())


@contextmanager
def retention_guard(
    project_context: ProjectContext,
    store: SqlRunStore,
    lease: RunLease,
    plan: Plan,
    contract: Backfill,
    notice: Callable[[str], object],
) -> Iterator[SliceOrder]:
    """The guard of one replay; what it extends is restored at the exit."""
    topic, run = plan.source.topic, lease.run_id
    client_id = f"{REPLAY_PREFIX}-{run}-retention"
    control = KafkaTopicRetention(project_context.kafka.client(client_id))
    guard = RetentionGuard(
        lease,
        KafkaRetention(project_context.kafka, client_id, topic),
        options=lambda: race_options(plan, contract, withheld=withheld(project_context, store.reader, plan, run)),
        extension=RetentionExtension(lease, control, topic, lambda: store.reader.open_steps(STEP), notice),
        rate=recorded_rate(store.reader, plan, contract, now_utc()),
        notice=notice,
        clock=time.monotonic,
        share=_share(project_context, store, lease),
        variants=variants_of(plan),
    )
    with guarding(guard) as order:
        yield order


def restore_own(project_context: ProjectContext, lease: RunLease, notice: Callable[[str], object]) -> None:
    """Restore what an earlier process of this run extended and did not restore."""
    retention_sweep.restore_own(lease, lambda: _control(project_context), notice)


def sweep_extensions(
    project_context: ProjectContext,
    store: RunStore,
    operator: tuple[str, str],
    notice: Callable[[str], object],
    failed: Callable[[str], object],
    besides: str | None = None,
) -> list[ExtensionIntent]:
    """Restore the extensions of runs whose process has ended; returns those that still stand."""
    return retention_sweep.sweep_extensions(
        store.reader,
        lambda run: take_run_lease(store, run, *operator),
        lambda: _control(project_context),
        now_utc(),
        notice,
        failed,
        besides,
    )


def _share(project_context: ProjectContext, store: SqlRunStore, lease: RunLease) -> ShareControl:
    budget, board = configured_budget(project_context), budget_board(store)
    if budget is None:
        return NoShare()
    return PriorityShare(
        board,
        lambda: board.view(project_context.loaded.context, budget),
        lambda: store.reader.pace(lease.run_id),
        lease.run_id,
        lease.actor,
    )


def _control(project_context: ProjectContext) -> KafkaTopicRetention:
    return KafkaTopicRetention(project_context.kafka.client(CLIENT_ID))
