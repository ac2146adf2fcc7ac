"""The isolation certificate of a run: what is looked at before its first record, and what that is compared with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anabranch.adapters.iceberg.live import live_offsets
from anabranch.adapters.kafka.acls import acls_of
from anabranch.adapters.kafka.groups import consumer_groups
from anabranch.app.project_context import ProjectContext
from anabranch.close.isolation import (
    Acls,
    Certificate,
    certify,
    groups_document,
    read_groups,
)
from anabranch.close.live_group import LiveGroup
from anabranch.contract.consumer_groups import REPLAY_PREFIX
from anabranch.contract.pipeline import Pipeline
from anabranch.plan.plan import Plan


def look_at_isolation(project_context: ProjectContext, pipeline: Pipeline) -> dict[str, object]:
    """Every group with its offsets, and the rules for what live reads."""
    rules = _rules(project_context, pipeline)
    groups = groups_document(consumer_groups(project_context.kafka.client(REPLAY_PREFIX)))
    return {"groups": groups, "acls": None if rules is None else list(rules)}


def certified(
    project_context: ProjectContext, pipeline: Pipeline, plan: Plan, before: Mapping[str, Any], *, main_untouched: bool
) -> Certificate:
    """`before` is what was looked at, or nothing if the run never came to read."""
    seen = before.get("acls")
    # The table after the groups: what live's group shows is in the table by then.
    after = consumer_groups(project_context.kafka.client(REPLAY_PREFIX))
    table = project_context.catalog.open().load_table(plan.target.table)
    return certify(
        read_groups(before.get("groups", {})),
        after,
        live_group=pipeline.spec.consumer_group,
        live=LiveGroup(plan.source.topic, live_offsets(table, plan.pipeline, plan.source.uuid)),
        main_untouched=main_untouched,
        acls=Acls(None if seen is None else tuple(seen), _rules(project_context, pipeline)),
    )


def _rules(project_context: ProjectContext, pipeline: Pipeline) -> tuple[str, ...] | None:
    return acls_of(
        project_context.kafka.client(REPLAY_PREFIX), pipeline.spec.source.topic, pipeline.spec.consumer_group
    )
