"""Broker quotas of a project's replays: who they are for, the brake of one replay, and orphans of crashed runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from anabranch.adapters.kafka.quotas import KafkaQuotas
from anabranch.adapters.sql.store import SqlRunStore
from anabranch.app.project_context import ProjectContext
from anabranch.contract.consumer_groups import REPLAY_PREFIX
from anabranch.errors import AnabranchError
from anabranch.plan.plan import Plan
from anabranch.plan.quotas import FLOOR, QuotaEntity, QuotaForecast, matching, per_broker
from anabranch.replay.quota_brake import QuotaBrake
from anabranch.replay.quota_overview import QuotaOverview, overview_of
from anabranch.replay.quota_ports import QuotaRefusedError
from anabranch.replay.quota_sweep import SweptQuota, sweep_quotas
from anabranch.runs.lease_holder import is_gone
from anabranch.runs.run_lease import RunLease

ANONYMOUS = "ANONYMOUS"
"""Kafka's name for a client that has not authenticated."""


def kafka_user(project_context: ProjectContext) -> str | None:
    """The name by which the brokers know the replay; None: it can't be known from the client's settings.

    A certificate's name depends on the brokers' mapping rules, and a token's on what its issuer wrote into it.
    """
    settings = project_context.loaded.settings.kafka
    login = project_context.kafka.login
    if settings.quota_user is not None:
        return settings.quota_user
    if login is None or (login.mechanism is None and login.cert_file is None):
        return ANONYMOUS
    return login.username if login.mechanism in ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512") else None


def quota_entity(project_context: ProjectContext, run_id: str) -> QuotaEntity:
    """All consumers of one run: each has the run's client id."""
    return QuotaEntity(kafka_user(project_context), f"{REPLAY_PREFIX}-{run_id}")


@contextmanager
def quota_brake(
    project_context: ProjectContext,
    lease: RunLease,
    plan: Plan,
    notice: Callable[[str], object],
    throttled_ms: Callable[[], float],
) -> Iterator[list[QuotaBrake]]:
    """The brake, removed at the exit; none where `kafka.quota` is false."""
    if not project_context.loaded.settings.kafka.quota:
        yield []
        return
    entity = quota_entity(project_context, lease.run_id)
    brokers = KafkaQuotas(project_context.kafka, plan.source.topic, plan.source.ranges)
    with QuotaBrake(lease, brokers, entity, entity.client_id or "", notice, throttled_ms) as brake:
        yield [brake]


def quota_forecast(project_context: ProjectContext, plan: Plan, bytes_per_second: int | None) -> QuotaForecast:
    """What the brokers would do for this plan. Changes nothing: the trial is one that the brokers only check."""
    # The run does not exist yet: its client id is new, so that no other entity is like it.
    entity = quota_entity(project_context, "RUN")
    brokers = KafkaQuotas(project_context.kafka, plan.source.topic, plan.source.ranges)
    if not project_context.loaded.settings.kafka.quota:
        return QuotaForecast(enabled=False)
    refused = unreadable = None
    value = None
    try:
        quotas = brokers.all()
    except QuotaRefusedError as error:
        quotas, unreadable = [], error.what
    try:
        brokers.try_set(entity, FLOOR)
    except QuotaRefusedError as error:
        refused = error.what
    if bytes_per_second is not None:
        value = per_broker(bytes_per_second, brokers.leader_bytes())
    others = tuple(matching(quotas, entity.user, entity.client_id or ""))
    # Without reading it back, a quota does not count as set.
    return QuotaForecast(True, entity, refused or unreadable, unreadable, others, value)


def quota_overview(project_context: ProjectContext, store: SqlRunStore) -> QuotaOverview:
    """Changes nothing. Raises QuotaRefusedError or KafkaUnreachableError."""
    return overview_of(store, KafkaQuotas(project_context.kafka), kafka_user(project_context), store.now(), is_gone)


def sweep(project_context: ProjectContext, store: SqlRunStore, actor: str) -> Sequence[SweptQuota]:
    """Remove the quotas that crashed runs left on this context's cluster."""
    return sweep_quotas(store, lambda: KafkaQuotas(project_context.kafka), actor, store.now(), is_gone)


def sweep_before(project_context: ProjectContext, store: SqlRunStore, actor: str, say: Callable[[str], object]) -> None:
    """What a command that takes a lease does first. Asks the brokers only if the records name an orphan.

    A cluster that does not answer or refuses leaves the records open, for the next command.
    """
    try:
        for each in sweep(project_context, store, actor):
            say(each.words)
    except AnabranchError as error:
        say(f"Quotas that an ended run left at the brokers could not be removed: {error.what}")
