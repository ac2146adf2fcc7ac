"""`anabranch apply`, `retry` and `validate`: run a plan up to its validation. After a crash or a pause it continues."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anabranch.cli.current_command import note_status_command
from anabranch.cli.options import ContextName, Control, OptionalContractFile, ProjectFolder, RunId, open_run
from anabranch.cli.output import Format, Output, emit, say, say_next

if TYPE_CHECKING:
    from rich.console import Console

    from anabranch.app.backfill import BackfillRun
    from anabranch.replay.replayer import ReplayEnd
    from anabranch.runs.run_lease import RunLease
    from anabranch.validate.report import Report


def apply(
    plan_file: Annotated[
        Path | None, typer.Argument(metavar="[PLAN]", help="Plan file written by `anabranch plan --out`.")
    ] = None,
    file: OptionalContractFile = None,
    control: Control = False,
    project: ProjectFolder = Path(),
    context: ContextName = None,
    output: Output = Format.TABLE,
) -> None:
    """Replay a contract or plan file into staging and validate it. Production unchanged."""
    from datetime import datetime, timezone

    from anabranch.app.backfill import BackfillRun, operator, submit_contract
    from anabranch.app.project_context import open_project
    from anabranch.plan.plan_file import read_plan_file
    from anabranch.plan.submission import submit

    project_context = open_project(project, context)
    now, actor = datetime.now(timezone.utc), operator()[1]
    with project_context.store() as store:
        if plan_file is not None and control:
            raise typer.BadParameter(
                "a plan file already states whether there is a control: use `anabranch plan --control`"
            )
        if plan_file is not None and file is None:
            read = read_plan_file(plan_file)
            run = submit(store.writer, read.plan, read.contract, now=now, actor=actor)
        elif file is not None and plan_file is None:
            run = submit_contract(project_context, store, file, now=now, actor=actor, control=control)
        else:
            raise typer.BadParameter("give a plan file, or a contract with -f")
        note_status_command(f"anabranch status {run.id}")
        continue_run(BackfillRun(project_context, store, run.id), output)


def retry(
    run: RunId, project: ProjectFolder = Path(), context: ContextName = None, output: Output = Format.TABLE
) -> None:
    """Continue a run that failed, was paused or lost its process. Staged slices are not replayed again."""
    with open_run(run, project, context) as backfill:
        continue_run(backfill, output)


def validate(
    run: RunId, project: ProjectFolder = Path(), context: ContextName = None, output: Output = Format.TABLE
) -> None:
    """Validate staging. Checks counts, checksums, keys, nulls, schema, known records, queries and the offset ledger."""
    with open_run(run, project, context) as backfill, backfill.lease() as lease:
        report = _validated(backfill, lease)
    show(backfill, report, output)


def continue_run(backfill: BackfillRun, output: Format) -> None:
    """Replay the missing slices, validate, and print the next command."""
    from anabranch.cli.run_progress import run_progress
    from anabranch.gates.measure import READS
    from anabranch.replay.staged import StoppedReplay
    from anabranch.runs.states import State
    from anabranch.validate.report import Verdict
    from anabranch.validate.result import counted

    backfill = replace(backfill, say=say)
    twice = "" if backfill.plan.control is None else ", each by the corrected code and by the control"
    say(f"Run {backfill.run_id}: {counted(len(backfill.plan.slices), 'slice')} into staging{twice}.")
    with backfill.lease() as lease:
        if backfill.run.state in (State.PLANNED, State.REPLAYING, State.PAUSED, State.FAILED):
            variants = 1 if backfill.plan.control is None else 2
            backfill.gates.measure(say, READS)
            offsets = variants * sum(slice_.width for slice_ in backfill.plan.slices)
            watch = run_progress(offsets, backfill.lag, backfill.pace_words)
            with watch.shown():
                replayed = backfill.replay(lease, watch)
            if isinstance(replayed, StoppedReplay):
                _stopped(backfill, replayed.end, output)
        report = _validated(backfill, lease)
        if report.verdict is Verdict.ACCEPTED:
            backfill.rehearse_rollback(lease, say)
    show(backfill, report, output)


def show(backfill: BackfillRun, report: Report, output: Format) -> None:
    """Print the verdict. Exits with code 3 if it is a rejection."""
    from anabranch.cli.render_report import print_report
    from anabranch.errors import ExitCode
    from anabranch.validate.report import Verdict

    page = backfill.folder / "validation.html"
    accepted = report.verdict is Verdict.ACCEPTED
    following = _after(backfill) if accepted else f"anabranch describe {backfill.run_id}"

    def table(console: Console) -> None:
        print_report(report, console)

    emit({**report.document(), "page": str(page), "next": following}, output, table)
    say(f"page      {page}")
    say_next(following)
    if not accepted:
        raise typer.Exit(int(ExitCode.REFUSED))


def _after(backfill: BackfillRun) -> str:
    """The command after an accepted validation."""
    from datetime import datetime, timezone

    from anabranch.app.approval import is_cleared

    verb = "promote" if is_cleared(backfill, datetime.now(timezone.utc)) else "approve"
    return f"anabranch {verb} {backfill.run_id}"


def _validated(backfill: BackfillRun, lease: RunLease) -> Report:
    from datetime import datetime, timezone

    from anabranch.cli.run_progress import phases

    with phases() as phase:
        phase(f"validating run {backfill.run_id}")
        return backfill.validate(lease, datetime.now(timezone.utc), phase).report


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
        lambda console: console.print(f"Run {backfill.run_id} is {state}. Production unchanged.", markup=False),
    )
    if miss is not None:
        later = f"; the schedule begins again at {miss['not_before']}" if miss["not_before"] else ""
        say(f"deadline  {miss['deadline']} has passed: {miss['choice']}{later}")
    say_next(following)
    if miss is not None:
        raise typer.Exit(int(ExitCode.GUARDED))
    raise typer.Exit(int(ExitCode.INTERRUPTED if paused else ExitCode.DONE))
