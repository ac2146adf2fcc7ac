"""`anabranch promote`, `rollback` and `close`: commit a run to production, restore the former rows, end the run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anabranch.cli.options import ContextName, ProjectFolder, Reason, RunId, Yes, confirm, open_run
from anabranch.cli.output import Format, Output, emit, say, say_next

if TYPE_CHECKING:
    from anabranch.plan.target_range import TargetPart


def promote(
    run: RunId,
    yes: Yes = False,
    project: ProjectFolder = Path(),
    context: ContextName = None,
    output: Output = Format.TABLE,
) -> None:
    """Promote a validated run in one atomic commit. Live continues."""
    from datetime import datetime, timezone

    from anabranch.cli.run_progress import run_progress

    with open_run(run, project, context) as found:
        backfill = replace(found, say=say)
        target = backfill.plan.target
        confirm(
            f"One commit on {target.table} replaces {_replaced(target.partitions)} by the staged rows of run "
            f"{backfill.run_id}.\nReaders see the state before or after it. Live continues; its commits are kept.",
            target.table,
            yes,
        )
        with backfill.lease() as lease:
            watch = run_progress(0, backfill.lag)
            with watch.shown(pausable=False):
                snapshot = backfill.promote(lease, watch, datetime.now(timezone.utc))
        horizon = backfill.rollback_horizon
        until = None if horizon is None else horizon.ends_at
        following = f"anabranch rollback {backfill.run_id}"
        emit(
            {
                "run": backfill.run_id,
                "table": target.table,
                "snapshot": snapshot,
                "rollback_until": None if until is None else until.isoformat(),
                "next": following,
            },
            output,
            lambda console: console.print(
                f"Promoted run {backfill.run_id} to {target.table} (snapshot {snapshot}).", markup=False
            ),
        )
    if until is not None:
        say(f"close     from {until:%Y-%m-%d %H:%M} UTC: anabranch close {backfill.run_id}")
    say_next(following)


def rollback(
    run: RunId,
    yes: Yes = False,
    override: Annotated[
        bool,
        typer.Option(
            "--override",
            help="Roll back without the authority that contract and roles require. Needs --reason; recorded.",
        ),
    ] = False,
    reason: Reason = None,
    project: ProjectFolder = Path(),
    context: ContextName = None,
    output: Output = Format.TABLE,
) -> None:
    """Roll back a promoted run. Restores the former rows of the range and keeps every later commit of live."""
    if override != bool(reason):
        raise typer.BadParameter("--override and --reason go together")
    with open_run(run, project, context) as backfill:
        target = backfill.plan.target
        confirm(
            f"One commit on {target.table} removes the rows of run {backfill.run_id} and restores the former ones.\n"
            "Later commits of live are kept. Staging is kept, so the run can be promoted again.",
            target.table,
            yes,
        )
        with backfill.lease() as lease:
            snapshot = backfill.roll_back(lease, reason)
        following = f"anabranch close {backfill.run_id}"
        emit(
            {"run": backfill.run_id, "table": target.table, "snapshot": snapshot, "next": following},
            output,
            lambda console: console.print(
                f"Rolled back run {backfill.run_id} on {target.table} (snapshot {snapshot}).", markup=False
            ),
        )
    say_next(following)


def close(
    run: RunId,
    yes: Yes = False,
    forfeit: Annotated[
        bool,
        typer.Option(
            "--forfeit-rollback",
            help="Close within the contract's rollback.horizon. Needs --reason; recorded.",
        ),
    ] = False,
    reason: Reason = None,
    project: ProjectFolder = Path(),
    context: ContextName = None,
    output: Output = Format.TABLE,
) -> None:
    """Close a run: write its closure record and remove staging. No promotion or rollback is possible afterwards.

    A promoted run can be closed after the contract's rollback.horizon, counted from its last promotion.
    """
    from datetime import datetime, timezone

    from anabranch.app.approval import require_steering
    from anabranch.close.capacity import left_behind
    from anabranch.close.horizon import require_rollback_given_up

    if forfeit != bool(reason and reason.strip()):
        raise typer.BadParameter("--forfeit-rollback and --reason go together")
    with open_run(run, project, context) as backfill:
        require_steering(backfill, "close")
        now = datetime.now(timezone.utc)
        # Checked before the confirmation, and again under the lease.
        horizon = backfill.rollback_horizon
        require_rollback_given_up(backfill.run_id, horizon, now, forfeit=reason)
        guaranteed = (
            "" if horizon is None or not horizon.is_open(now) else f" until {horizon.ends_at:%Y-%m-%d %H:%M} UTC"
        )
        confirm(
            f"Run {backfill.run_id} is {backfill.run.state.value}. Closing removes its staging branch and tags; it "
            "can be neither promoted nor rolled back afterwards."
            + (f"\nIts contract guarantees a rollback{guaranteed}; you forfeit it." if guaranteed else ""),
            backfill.plan.target.table,
            yes,
        )
        with backfill.lease() as lease:
            record = backfill.close(lease, now, forfeit=reason)
        file = backfill.folder / "closure.json"
        emit(
            record,
            output,
            lambda console: console.print(f"Closed run {backfill.run_id}: {record['verdict']}. Closure record: {file}"),
        )
        for line in left_behind(record):
            say(f"left      {line}")


def _replaced(part: TargetPart) -> str:
    if part.start is None or part.end is None:
        return "the whole table"
    return f"the range from {part.start:%Y-%m-%d %H:%M} to {part.end:%Y-%m-%d %H:%M} UTC"
