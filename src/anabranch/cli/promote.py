"""`anabranch promote`, `rollback` and `close`: commit a run to production, restore the former rows, end the run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anabranch.cli.output import Format, Output, emit, stderr
from anabranch.cli.place import ContextName, ProjectFolder, RunId, Yes, confirm, run_in_hand

if TYPE_CHECKING:
    from anabranch.plan.target_range import TargetPart


def promote(
    run: RunId,
    yes: Yes = False,
    project: ProjectFolder = Path(),
    context: ContextName = None,
    output: Output = Format.TABLE,
) -> None:
    """Join a validated run into production in one atomic commit, while live goes on."""
    from datetime import datetime, timezone

    from anabranch.cli.watching import watching

    with run_in_hand(run, project, context) as found:
        backfill = replace(found, say=lambda line: stderr().print(line, markup=False))
        target = backfill.plan.target
        confirm(
            f"One commit on {target.table}: {_replaced(target.partitions)} is replaced by what run {backfill.run_id} "
            "has staged.\n"
            "Readers see the state before or the state after. Live goes on; nothing it writes is lost.",
            target.table,
            yes,
        )
        with backfill.lease() as lease:
            watch = watching(0, backfill.lag)
            with watch.shown(pausable=False):
                snapshot = backfill.promote(lease, watch, datetime.now(timezone.utc))
        horizon = backfill.rollback_horizon
        until = None if horizon is None else horizon.ends_at
        following = f"anabranch rollback {backfill.run_id}"
        if until is not None:
            following += f"; from {until:%Y-%m-%d %H:%M} UTC on anabranch close {backfill.run_id}"
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
    stderr().print(f"next      {following}", markup=False)


def rollback(
    run: RunId,
    yes: Yes = False,
    override: Annotated[
        bool,
        typer.Option(
            "--override",
            help="Roll back though the contract and the roles name others; needs --reason, goes on record.",
        ),
    ] = False,
    reason: Annotated[str | None, typer.Option("--reason", help="Why you override.", show_default=False)] = None,
    project: ProjectFolder = Path(),
    context: ContextName = None,
    output: Output = Format.TABLE,
) -> None:
    """Take a promoted run out again: the former rows of the range come back, later commits of live stay."""
    if override != bool(reason):
        raise typer.BadParameter("--override and --reason go together")
    with run_in_hand(run, project, context) as backfill:
        target = backfill.plan.target
        confirm(
            f"One commit on {target.table}: what run {backfill.run_id} has put in is taken out, and the former rows "
            "come back.\nWhat live has written since stays. Staging is kept, so you can promote again.",
            target.table,
            yes,
        )
        with backfill.lease() as lease:
            snapshot = backfill.roll_back(lease, reason)
        following = f"anabranch promote {backfill.run_id}, or anabranch close {backfill.run_id}"
        emit(
            {"run": backfill.run_id, "table": target.table, "snapshot": snapshot, "next": following},
            output,
            lambda console: console.print(
                f"Rolled back run {backfill.run_id} on {target.table} (snapshot {snapshot}).", markup=False
            ),
        )
    stderr().print(f"next      {following}", markup=False)


def close(
    run: RunId,
    yes: Yes = False,
    forfeit: Annotated[
        bool,
        typer.Option(
            "--forfeit-rollback",
            help="Close a promoted run within the contract's rollback.horizon; needs --reason, goes on record.",
        ),
    ] = False,
    reason: Annotated[
        str | None, typer.Option("--reason", help="Why the rollback is forfeited.", show_default=False)
    ] = None,
    project: ProjectFolder = Path(),
    context: ContextName = None,
    output: Output = Format.TABLE,
) -> None:
    """End a run: write its record and remove staging. After that it can't be rolled back or promoted.

    A promoted run is closed once the contract's rollback.horizon is over, counted from its last promotion.
    """
    from datetime import datetime, timezone

    from anabranch.app.approval import require_steering
    from anabranch.close.horizon import require_rollback_given_up

    if forfeit != bool(reason and reason.strip()):
        raise typer.BadParameter("--forfeit-rollback and --reason go together")
    with run_in_hand(run, project, context) as backfill:
        require_steering(backfill, "close")
        now = datetime.now(timezone.utc)
        # Asked before the confirmation, and again under the lease.
        horizon = backfill.rollback_horizon
        require_rollback_given_up(backfill.run_id, horizon, now, forfeit=reason)
        still = "" if horizon is None or not horizon.is_open(now) else f" until {horizon.ends_at:%Y-%m-%d %H:%M} UTC"
        confirm(
            f"Run {backfill.run_id} is {backfill.run.state.value}. Closing removes its staging branch and its tags: it "
            "can be neither promoted nor rolled back afterwards."
            + (f"\nIts contract guarantees a rollback{still}; you forfeit it." if still else ""),
            backfill.plan.target.table,
            yes,
        )
        with backfill.lease() as lease:
            record = backfill.close(lease, now, forfeit=reason)
        file = backfill.folder / "closure.json"
        emit(
            record,
            output,
            lambda console: console.print(f"Run {backfill.run_id} is closed: {record['verdict']}. Record: {file}"),
        )


def _replaced(part: TargetPart) -> str:
    if part.start is None or part.end is None:
        return "all of it"
    return f"what it has from {part.start:%Y-%m-%d %H:%M} to {part.end:%Y-%m-%d %H:%M} UTC"
