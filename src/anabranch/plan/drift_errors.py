"""Words and errors for what has changed since the plan was made: what is missing, what is safe, and the way out."""

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
    """What the plan was made from is no longer so. The run stops rather than do something else than was planned."""

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


def require_no_drift(plan: Plan, drifts: Iterable[Drift]) -> None:
    """Raise for the first drift that forbids going on."""
    for drift in drifts:
        if forbids(drift):
            raise error_of(plan, drift)


def describe(drift: Drift) -> str:
    match drift:
        case TopicRecreated(was, None):
            return f"the topic (id {was}) is gone"
        case TopicRecreated(was, now):
            return f"the topic was deleted and made anew: its id was {was} and is {now}"
        case PartitionsAdded(was, now):
            return f"the topic had {was} partitions and has {now}; the plan keeps to its own"
        case RetentionPassed(lost):
            gone = ", ".join(f"partition {p}: {start} to {end - 1}" for p, (start, end) in sorted(lost.items()))
            return f"retention has deleted offsets that are still to be read ({gone})"
        case CodeChanged(was, now):
            return f"the transform's code has changed: its digest was {was[:12]} and is {now[:12]}"
        case PipelineChanged(path, was, now):
            absent = "not set"
            return f"{path} of the pipeline was {was or absent} when the plan was made and is {now or absent} now"
        case CheckFileChanged(file, was, now):
            found = "it can't be read" if now is None else f"its contents are {now[:12]}"
            return f"check file {file} has changed: the plan pins sha256 {was[:12]}, and {found}"
        case SchemaChanged(_, None):
            return "the target table is gone"
        case SchemaChanged():
            return "the columns or the partitioning of the target have changed"
        case BaseGone(snapshot):
            return f"the base snapshot {snapshot} is no longer in the history of the target"
        case LookupGone(name, table, snapshot):
            return f"snapshot {snapshot} of {table}, which {name} is looked up in, is gone"
        case _:
            assert_never(drift)


SAFE = "Production is as before. What is staged stays, and is complete for the slices that were committed."


def error_of(plan: Plan, drift: Drift) -> DriftError:
    """The error for a drift: what is missing, what is safe, and the way out."""
    what = f"{plan.source.topic} → {plan.target.table}: {describe(drift)}."
    match drift:
        case TopicRecreated():
            return PlannedTopicRecreatedError(
                what,
                state=SAFE,
                hint="cancel the run: its records are gone. If the new topic holds them again, plan anew",
                topic=plan.source.topic,
            )
        case RetentionPassed(lost):
            return RetentionOvertookError(
                what,
                state=SAFE + " It can't be promoted: the range would be incomplete.",
                hint="cancel the run, raise retention.ms, and plan a range that the topic still has",
                topic=plan.source.topic,
                lost={str(p): [start, end] for p, (start, end) in sorted(lost.items())},
            )
        case CodeChanged():
            return CodeChangedError(
                what,
                state=SAFE,
                hint="put the former code back and run the same command; or cancel the run and plan anew",
                was=drift.was,
                now=drift.now,
            )
        case PipelineChanged():
            return PipelineChangedError(
                what,
                state=SAFE,
                hint=f"change {drift.field} of pipeline {plan.pipeline} back and run the same command; or cancel "
                "the run and plan again with the pipeline as it is",
                pipeline=plan.pipeline,
                field=drift.field,
                was=drift.was,
                now=drift.now,
            )
        case CheckFileChanged():
            return CheckFileChangedError(
                what,
                state=SAFE,
                hint=f"restore {drift.file} as it was when the plan was made and run the same command; or cancel "
                "the run and plan again, which needs a new validation and approval",
                file=drift.file,
                was=drift.was,
                now=drift.now,
            )
        case SchemaChanged():
            return SchemaChangedError(
                what,
                state=SAFE,
                hint="cancel the run and plan anew: its rows were made for the former columns",
                table=plan.target.table,
            )
        case BaseGone():
            return BaseGoneError(
                what,
                state=SAFE,
                hint="cancel the run and plan anew, keeping snapshots at least as long as a backfill runs",
                table=plan.target.table,
                base=plan.target.base,
            )
        case LookupGone():
            return LookupGoneError(
                what,
                state=SAFE,
                hint="cancel the run and plan anew: it takes the lookup as it is then, or as spec.lookups says. "
                "Keep snapshots of lookup tables at least as long as a backfill runs",
                table=drift.table,
                snapshot=drift.snapshot,
            )
        case PartitionsAdded():
            return DriftError(what, state=SAFE, hint="nothing: the run goes on with the plan's partitions")
        case _:
            assert_never(drift)
