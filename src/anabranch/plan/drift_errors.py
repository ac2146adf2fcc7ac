"""Descriptions and errors for changes since the plan was made."""

from __future__ import annotations

from collections.abc import Iterable

from typing_extensions import assert_never

from anabranch.errors import AnabranchError, ExitCode
from anabranch.plan.drift import (
    BaseGone,
    CheckFileChanged,
    CodeChanged,
    Drift,
    LookupGone,
    PartitionsAdded,
    PipelineChanged,
    RetentionPassed,
    SchemaChanged,
    TopicRecreated,
    forbids,
)
from anabranch.plan.plan import Plan


class DriftError(AnabranchError):
    """A pinned input has changed. The run stops instead of deviating from the plan."""

    code = "plan.drift"
    exit_code = ExitCode.CONFLICT


class PlannedTopicRecreatedError(DriftError):
    code = "plan.topic-recreated"


class RetentionOvertookError(DriftError):
    code = "plan.retention-overtook"


class CodeChangedError(DriftError):
    code = "plan.code-changed"


class PipelineChangedError(DriftError):
    code = "plan.pipeline-changed"


class CheckFileChangedError(DriftError):
    code = "plan.check-file-changed"


class SchemaChangedError(DriftError):
    code = "plan.schema-changed"


class BaseGoneError(DriftError):
    code = "plan.base-gone"


class LookupGoneError(DriftError):
    code = "plan.lookup-gone"


def require_no_drift(plan: Plan, drifts: Iterable[Drift], run: str | None = None) -> None:
    """Raise for the first drift that forbids continuing."""
    for drift in drifts:
        if forbids(drift):
            raise error_of(plan, drift, run)


def describe(drift: Drift) -> str:
    match drift:
        case TopicRecreated(was, None):
            return f"the topic (id {was}) was deleted"
        case TopicRecreated(was, now):
            return f"the topic was deleted and recreated: id {was} when planned, {now} now"
        case PartitionsAdded(was, now):
            return f"partitions were added to the topic: {was} when planned, {now} now; the run reads the planned ones"
        case RetentionPassed(lost):
            gone = ", ".join(f"partition {p}: {start} to {end - 1}" for p, (start, end) in sorted(lost.items()))
            return f"retention has deleted offsets that the run still needs ({gone})"
        case CodeChanged(was, now):
            return f"the transform's code has changed: digest {was[:12]} when planned, {now[:12]} now"
        case PipelineChanged(path, was, now):
            absent = "not set"
            return f"{path} of the pipeline has changed: {was or absent} when planned, {now or absent} now"
        case CheckFileChanged(file, was, now):
            current = "unreadable" if now is None else now[:12]
            return f"check file {file} has changed: sha256 {was[:12]} when planned, {current} now"
        case SchemaChanged(_, None):
            return "the target table does not exist"
        case SchemaChanged():
            return "columns or partitioning of the target have changed"
        case BaseGone(snapshot):
            return f"base snapshot {snapshot} is no longer in the target's history"
        case LookupGone(name, table, snapshot):
            return f"snapshot {snapshot} of lookup {name} ({table}) has expired"
        case _:
            assert_never(drift)


SAFE = "Production unchanged. Staging keeps the slices that were committed."


def error_of(plan: Plan, drift: Drift, run: str | None = None) -> DriftError:
    """The error for a drift."""
    what = f"{plan.source.topic} → {plan.target.table}: {describe(drift)}."
    match drift:
        case TopicRecreated():
            return PlannedTopicRecreatedError(
                what,
                state=SAFE,
                hint="cancel the run: the planned records no longer exist. If the new topic contains them, plan again",
                topic=plan.source.topic,
            )
        case RetentionPassed(lost):
            return RetentionOvertookError(
                what,
                state=SAFE + " The run can't be promoted: the range would be incomplete.",
                command=None if run is None else f"anabranch cancel {run}",
                hint="cancel the run, raise retention.ms, and plan a range that the topic still contains",
                topic=plan.source.topic,
                lost={str(p): [start, end] for p, (start, end) in sorted(lost.items())},
            )
        case CodeChanged():
            return CodeChangedError(
                what,
                state=SAFE,
                hint="restore the former code and repeat the command, or cancel the run and plan again",
                was=drift.was,
                now=drift.now,
            )
        case PipelineChanged():
            return PipelineChangedError(
                what,
                state=SAFE,
                hint=f"restore {drift.field} of pipeline {plan.pipeline} and repeat the command, or cancel the run and "
                "plan again",
                pipeline=plan.pipeline,
                field=drift.field,
                was=drift.was,
                now=drift.now,
            )
        case CheckFileChanged():
            return CheckFileChangedError(
                what,
                state=SAFE,
                hint=f"restore {drift.file} and repeat the command, or cancel the run and plan again, which needs a "
                "new validation and approval",
                file=drift.file,
                was=drift.was,
                now=drift.now,
            )
        case SchemaChanged():
            return SchemaChangedError(
                what,
                state=SAFE,
                hint="cancel the run and plan again: its rows have the former columns",
                table=plan.target.table,
            )
        case BaseGone():
            return BaseGoneError(
                what,
                state=SAFE,
                hint="cancel the run and plan again; retain snapshots for longer than a backfill takes",
                table=plan.target.table,
                base=plan.target.base,
            )
        case LookupGone():
            return LookupGoneError(
                what,
                state=SAFE,
                hint="cancel the run and plan again, which pins the lookup's current snapshot or that of spec.lookups; "
                "retain snapshots of lookup tables for longer than a backfill takes",
                table=drift.table,
                snapshot=drift.snapshot,
            )
        case PartitionsAdded():
            return DriftError(what, state=SAFE, hint="no action needed: the run continues with the planned partitions")
        case _:
            assert_never(drift)
