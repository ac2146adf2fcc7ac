"""`anabranch pause`, `resume`, `cancel` and `throttle`: requests to a running replay, from any machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anabranch.cli.options import ContextName, ProjectFolder, RunId, Yes, confirm, open_run
from anabranch.cli.output import Format, Output, emit, say_next

if TYPE_CHECKING:
    from anabranch.app.backfill import BackfillRun
    from anabranch.replay.controls import ControlRequest


def pause(
    run: RunId, project: ProjectFolder = Path(), context: ContextName = None, output: Output = Format.TABLE
) -> None:
    """Pause a replay after the current slice. Staged slices are kept; `anabranch resume` continues."""
    from anabranch.replay.controls import ControlRequest

    with open_run(run, project, context) as backfill:
        _request(backfill, ControlRequest.PAUSE)
        _print_state(backfill, "will pause after the current slice", f"anabranch resume {backfill.run_id}", output)


def resume(
    run: RunId, project: ProjectFolder = Path(), context: ContextName = None, output: Output = Format.TABLE
) -> None:
    """Resume a paused replay. If its process has ended, continue it with `anabranch retry`."""
    from anabranch.app.approval import require_steering
    from anabranch.replay.controls import ControlRequest

    with open_run(run, project, context) as backfill:
        require_steering(backfill, "resume")
        _request(backfill, ControlRequest.RESUME)
        alive = _has_process(backfill)
        message = "resumes" if alive else "has no running process"
        _print_state(backfill, message, f"anabranch {'status' if alive else 'retry'} {backfill.run_id}", output)


def cancel(
    run: RunId,
    yes: Yes = False,
    project: ProjectFolder = Path(),
    context: ContextName = None,
    output: Output = Format.TABLE,
) -> None:
    """Cancel a run before promotion. It can't be resumed; `anabranch close` removes its staging.

    A running replay ends after its current slice, and the range is free for other runs.
    """
    from anabranch.app.approval import require_steering
    from anabranch.replay.controls import ControlRequest
    from anabranch.runs.states import Event, next_state

    with open_run(run, project, context) as backfill:
        require_steering(backfill, "cancel")
        next_state(backfill.run.state, Event.CANCEL)  # refused before the confirmation
        confirm(
            f"Run {backfill.run_id} is {backfill.run.state.value}. It can't be resumed or promoted afterwards. "
            "Production unchanged.",
            backfill.plan.target.table,
            yes,
        )
        if _has_process(backfill):
            _request(backfill, ControlRequest.CANCEL)
            message = "will be cancelled after the current slice"
        else:
            with backfill.lease() as lease:
                lease.transition(Event.CANCEL)
            message = "is cancelled"
        _print_state(backfill, message, f"anabranch close {backfill.run_id}", output)


def throttle(
    run: RunId,
    rate: Annotated[
        str, typer.Option("--rate", help="Maximum bytes per second, such as 20MiB; `none` removes the limit.")
    ],
    project: ProjectFolder = Path(),
    context: ContextName = None,
    output: Output = Format.TABLE,
) -> None:
    """Limit the read rate of a running replay. Takes effect within two seconds, also in the current slice."""
    from pydantic_core import PydanticCustomError

    from anabranch.app.approval import require_steering
    from anabranch.project.quantities import parse_size
    from anabranch.replay.controls import ControlRequest

    try:
        limit = None if rate == "none" else parse_size(rate)
    except PydanticCustomError as error:
        raise typer.BadParameter(f"{rate!r} is not a rate; examples: 20MiB, 500kB, none") from error
    with open_run(run, project, context) as backfill:
        require_steering(backfill, "throttle")
        _request(backfill, ControlRequest.THROTTLE, {"bytes_per_second": limit})
        allowed = f"up to {rate} per second" if limit else "without a rate limit"
        message = f"reads {allowed} within two seconds"
        _print_state(backfill, message, f"anabranch status {backfill.run_id}", output)


def _request(backfill: BackfillRun, request: ControlRequest, details: dict[str, object] | None = None) -> None:
    from anabranch.app.backfill import operator

    backfill.store.writer.record_act(request.value, actor=operator()[1], run_id=backfill.run_id, details=details)


def _has_process(backfill: BackfillRun) -> bool:
    """Whether a living process holds the run's lease."""
    from datetime import datetime, timezone

    from anabranch.runs.lease_holder import is_gone

    lease = backfill.store.reader.lease(backfill.run_id)
    return lease.held_by_another("", datetime.now(timezone.utc)) and not is_gone(lease.holder or "")


def _print_state(backfill: BackfillRun, message: str, following: str, output: Format) -> None:
    state = backfill.run.state.value
    emit(
        {"run": backfill.run_id, "state": state, "message": message, "next": following},
        output,
        lambda console: console.print(f"Run {backfill.run_id} ({state}) {message}.", markup=False),
    )
    say_next(following)
