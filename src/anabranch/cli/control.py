"""`anabranch pause`, `resume`, `cancel` and `throttle`: ask a running replay, from anywhere."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anabranch.cli.output import Format, Output, emit, stderr
from anabranch.cli.place import ContextName, ProjectFolder, RunId, Yes, confirm, run_in_hand

if TYPE_CHECKING:
    from anabranch.app.backfill import BackfillRun
    from anabranch.replay.controls import ControlRequest


def pause(
    run: RunId, project: ProjectFolder = Path(), context: ContextName = None, output: Output = Format.TABLE
) -> None:
    """Pause a replay after the slice at hand. What is staged stays; `anabranch resume` goes on at once."""
    from anabranch.replay.controls import ControlRequest

    with run_in_hand(run, project, context) as backfill:
        _ask(backfill, ControlRequest.PAUSE)
        _told(backfill, "will pause after the slice at hand", f"anabranch resume {backfill.run_id}", output)


def resume(
    run: RunId, project: ProjectFolder = Path(), context: ContextName = None, output: Output = Format.TABLE
) -> None:
    """Let a paused replay go on. If its process has ended, go on here instead with `anabranch retry`."""
    from anabranch.app.approval import require_steering
    from anabranch.replay.controls import ControlRequest

    with run_in_hand(run, project, context) as backfill:
        require_steering(backfill, "resume")
        _ask(backfill, ControlRequest.RESUME)
        alive = _worked_on(backfill)
        says = "goes on" if alive else "has no process at work"
        _told(backfill, says, f"anabranch {'status' if alive else 'retry'} {backfill.run_id}", output)


def cancel(
    run: RunId,
    yes: Yes = False,
    project: ProjectFolder = Path(),
    context: ContextName = None,
    output: Output = Format.TABLE,
) -> None:
    """Give a run up before it is promoted, for good: it can't be resumed. `anabranch close` removes its staging.

    A run that is being replayed is cancelled after the slice at hand; its range is free from then on.
    """
    from anabranch.app.approval import require_steering
    from anabranch.replay.controls import ControlRequest
    from anabranch.runs.states import Event, next_state

    with run_in_hand(run, project, context) as backfill:
        require_steering(backfill, "cancel")
        next_state(backfill.run.state, Event.CANCEL)  # refused before anybody is asked
        confirm(
            f"Run {backfill.run_id} is {backfill.run.state.value}. A cancelled run can't be resumed or promoted. "
            "Production is not changed.",
            backfill.plan.target.table,
            yes,
        )
        if _worked_on(backfill):
            _ask(backfill, ControlRequest.CANCEL)
            says = "will be cancelled after the slice at hand"
        else:
            with backfill.lease() as lease:
                lease.transition(Event.CANCEL)
            says = "is cancelled"
        _told(backfill, says, f"anabranch close {backfill.run_id}", output)


def throttle(
    run: RunId,
    rate: Annotated[str, typer.Option("--rate", help="The most bytes per second, such as 20MiB; `none` for no limit.")],
    project: ProjectFolder = Path(),
    context: ContextName = None,
    output: Output = Format.TABLE,
) -> None:
    """Change how fast a replay may read, while it runs: the slice at hand too, within two seconds."""
    from pydantic_core import PydanticCustomError

    from anabranch.app.approval import require_steering
    from anabranch.project.quantities import parse_size
    from anabranch.replay.controls import ControlRequest

    try:
        limit = None if rate == "none" else parse_size(rate)
    except PydanticCustomError as error:
        raise typer.BadParameter(f"{rate!r} is not a rate: write 20MiB, 500kB or none") from error
    with run_in_hand(run, project, context) as backfill:
        require_steering(backfill, "throttle")
        _ask(backfill, ControlRequest.THROTTLE, {"bytes_per_second": limit})
        allowed = f"{rate} per second" if limit else "without a limit"
        says = f"may read {allowed} from now on; a slice at hand notices within two seconds"
        _told(backfill, says, f"anabranch status {backfill.run_id}", output)


def _ask(backfill: BackfillRun, wish: ControlRequest, details: dict[str, object] | None = None) -> None:
    from anabranch.app.backfill import operator

    backfill.store.writer.record_act(wish.value, actor=operator()[1], run_id=backfill.run_id, details=details)


def _worked_on(backfill: BackfillRun) -> bool:
    """Whether some process holds the run's lease now."""
    from datetime import datetime, timezone

    from anabranch.runs.lease_holder import is_gone

    lease = backfill.store.reader.lease(backfill.run_id)
    return lease.held_by_another("", datetime.now(timezone.utc)) and not is_gone(lease.holder or "")


def _told(backfill: BackfillRun, says: str, following: str, output: Format) -> None:
    state = backfill.run.state.value
    emit(
        {"run": backfill.run_id, "state": state, "says": says, "next": following},
        output,
        lambda console: console.print(f"Run {backfill.run_id} ({state}) {says}.", markup=False),
    )
    stderr().print(f"next      {following}", markup=False)
