"""The isolation certificate of a run: observes groups and ACLs before its first record and at its close."""

from __future__ import annotations

from collections.abc import Collection

from anabranch.adapters.iceberg.live import live_offsets
from anabranch.adapters.kafka.acls import acls_of
from anabranch.adapters.kafka.groups import consumer_groups
from anabranch.app.project_context import ProjectContext
from anabranch.close.isolation import (
    Acls,
    Certificate,
    IsolationBefore,
    certify,
    main_untouched,
)
from anabranch.close.live_group import LiveGroup
from anabranch.contract.consumer_groups import REPLAY_PREFIX
from anabranch.contract.pipeline import Pipeline
from anabranch.plan.plan import Plan
from anabranch.promote.history import Author


def look_at_isolation(project_context: ProjectContext, pipeline: Pipeline) -> dict[str, object]:
    """Every group with its offsets, and the rules for what live reads."""
    rules = _rules(project_context, pipeline)
    groups = consumer_groups(project_context.kafka.client(REPLAY_PREFIX))
    return IsolationBefore(groups, rules).document()


def certified(
    project_context: ProjectContext,
    pipeline: Pipeline,
    plan: Plan,
    before: IsolationBefore,
    authors: Collection[Author],
) -> Certificate:
    """`authors`: as whom the run has committed to main."""
    # The table after the groups: what live's group shows is in the table by then.
    after = consumer_groups(project_context.kafka.client(REPLAY_PREFIX))
    table = project_context.catalog.open().load_table(plan.target.table)
    return certify(
        before.groups,
        after,
        live_group=pipeline.spec.consumer_group,
        live=LiveGroup(plan.source.topic, live_offsets(table, plan.pipeline, plan.source.uuid)),
        main_untouched=main_untouched(authors),
        acls=Acls(before.acls, _rules(project_context, pipeline)),
    )


def _rules(project_context: ProjectContext, pipeline: Pipeline) -> tuple[str, ...] | None:
    return acls_of(
        project_context.kafka.client(REPLAY_PREFIX), pipeline.spec.source.topic, pipeline.spec.consumer_group
    )
