"""`anabranch apply`: carry out a plan up to validation; run again after a crash or a pause, it goes on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anabranch.cli.output import Format, Output, emit, stderr
from anabranch.cli.place import ContextName, Control, ProjectFolder, RunId, run_in_hand
from anabranch.cli.under_way import note_look

if TYPE_CHECKING:
    from rich.console import Console

    from anabranch.app.backfill import BackfillRun
    from anabranch.replay.replayer import ReplayEnd
    from anabranch.runs.run_lease import RunLease
    from anabranch.validate.report import Report


def apply(
    plan_file: Annotated[
        Path | None, typer.Argument(metavar="[PLAN]", help="A plan that `anabranch plan --out` wrote.")
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--file", "-f", help="The contract: plan it now and carry that out.")
    ] = None,
    control: Control = False,
    project: ProjectFolder = Path(),
    context: ContextName = None,
    output: Output = Format.TABLE,
) -> None:
    """Replay a contract into staging and validate it. Production is not touched until `anabranch promote`."""
    from datetime import datetime, timezone

    from anabranch.app.backfill import BackfillRun, operator, submit, submit_contract
    from anabranch.app.project_context import open_project
    from anabranch.plan.plan_file import read_plan_file

    project_context = open_project(project, context)
    now, actor = datetime.now(timezone.utc), operator()[1]
    with project_context.store() as store:
        if plan_file is not None and control:
            raise typer.BadParameter("a plan's file says already whether there is a control; plan with --control")
        if plan_file is not None and file is None:
            read = read_plan_file(plan_file)
            run = submit(store, read.plan, read.contract, now=now, actor=actor)
        elif file is not None and plan_file is None:
            run = submit_contract(project_context, store, file, now=now, actor=actor, control=control)
        else:
            raise typer.BadParameter("give a plan's file, or a contract with -f")
        note_look(f"anabranch status {run.id}")
        go_on(BackfillRun(project_context, store, run.id), output)


def retry(
    run: RunId, project: ProjectFolder = Path(), context: ContextName = None, output: Output = Format.TABLE
) -> None:
    """Go on with a run that failed, was paused or lost its process; slices in staging are not replayed again."""
    with run_in_hand(run, project, context) as backfill:
        go_on(backfill, output)


def validate(
    run: RunId, project: ProjectFolder = Path(), context: ContextName = None, output: Output = Format.TABLE
) -> None:
    """Judge what is staged: counts, checksums, keys, nulls, schema, known records, your SQL, and every offset."""
    with run_in_hand(run, project, context) as backfill, backfill.lease() as lease:
        report = _validated(backfill, lease)
    show(backfill, report, output)


def go_on(backfill: BackfillRun, output: Format) -> None:
    """Replay what is missing, validate, and say what comes next."""
    from anabranch.cli.watching import watching
    from anabranch.gates.measure import READS
    from anabranch.replay.replayer import ReplayEnd
    from anabranch.runs.states import State
    from anabranch.validate.report import Verdict

    words = stderr()
    backfill = replace(backfill, say=lambda line: words.print(line, markup=False))
    twice = "" if backfill.plan.control is None else ", each by the corrected code and by the control's"
    words.print(f"Run {backfill.run_id}: {len(backfill.plan.slices)} slices into staging{twice}.", markup=False)
    with backfill.lease() as lease:
        if backfill.run.state in (State.PLANNED, State.REPLAYING, State.PAUSED, State.FAILED):
            lanes = 1 if backfill.plan.control is None else 2
            backfill.gates.measure(lambda said: words.print(said, markup=False), READS)
            watch = watching(lanes * sum(slice_.width for slice_ in backfill.plan.slices), backfill.lag)
            with watch.shown():
                end = backfill.replay(lease, watch)
            if end is not ReplayEnd.STAGED:
                _stopped(backfill, end, output)
        report = _validated(backfill, lease)
        if report.verdict is Verdict.ACCEPTED:
            backfill.rehearse_rollback(lease, lambda said: words.print(said, markup=False))
    show(backfill, report, output)


def show(backfill: BackfillRun, report: Report, output: Format) -> None:
    """The verdict, and an exit code that scripts can rely on."""
    from anabranch.cli.report import print_report
    from anabranch.errors import ExitCode
    from anabranch.validate.report import Verdict

    page = backfill.folder / "validation.html"
    accepted = report.verdict is Verdict.ACCEPTED
    following = _after(backfill) if accepted else f"anabranch describe {backfill.run_id}"

    def table(console: Console) -> None:
        print_report(report, console)

    emit({**report.document(), "page": str(page), "next": following}, output, table)
    words = stderr()
    words.print(f"page      {page}", markup=False)
    words.print(f"next      {following}", markup=False)
    if not accepted:
        raise typer.Exit(int(ExitCode.REFUSED))


def _after(backfill: BackfillRun) -> str:
    """What comes after a validation that said yes."""
    from datetime import datetime, timezone

    from anabranch.app.approval import is_cleared

    verb = "promote" if is_cleared(backfill, datetime.now(timezone.utc)) else "approve"
    return f"anabranch {verb} {backfill.run_id}"


def _validated(backfill: BackfillRun, lease: RunLease) -> Report:
    from datetime import datetime, timezone

    from anabranch.cli.watching import phases

    with phases() as phase:
        phase(f"validating run {backfill.run_id}")
        return backfill.validate(lease, datetime.now(timezone.utc), phase)


def _stopped(backfill: BackfillRun, end: ReplayEnd, output: Format) -> None:
    from anabranch.errors import ExitCode
    from anabranch.replay.limits import stopped_by_deadline
    from anabranch.replay.replayer import ReplayEnd

    paused, miss = end is ReplayEnd.PAUSED, stopped_by_deadline(backfill.store.reader.audit(run_id=backfill.run_id))
    following = f"anabranch retry {backfill.run_id}" if paused else f"anabranch close {backfill.run_id}"
    state = backfill.run.state.value
    emit(
        {"run": backfill.run_id, "state": state, "missed": miss, "next": following},
        output,
        lambda console: console.print(f"Run {backfill.run_id} is {state}. Production is as before.", markup=False),
    )
    if miss is not None:
        later = f"; the next window opens at {miss['not_before']}" if miss["not_before"] else ""
        stderr().print(f"deadline  {miss['deadline']} has passed: {miss['choice']}{later}", markup=False)
    stderr().print(f"next      {following}", markup=False)
    if miss is not None:
        raise typer.Exit(int(ExitCode.GUARDED))
    raise typer.Exit(int(ExitCode.INTERRUPTED if paused else ExitCode.DONE))
