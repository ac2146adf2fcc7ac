"""`anabranch pause`, `resume`, `cancel` and `throttle`: requests to one replay or to all, from any machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anabranch.cli.options import ContextName, OptionalRunId, ProjectFolder, Reason, RunId, Yes, confirm, open_run
from anabranch.cli.output import Format, Output, emit, say_next

if TYPE_CHECKING:
    from anabranch.app.backfill import BackfillRun
    from anabranch.app.project_context import ProjectContext
    from anabranch.replay.controls import ControlRequest


All = Annotated[bool, typer.Option("--all", help="All replays of the context, and those that start later.")]


def pause(
    run: OptionalRunId = None,
    every: All = False,
    reason: Reason = None,
    project: ProjectFolder = Path(),
    context: ContextName = None,
    output: Output = Format.TABLE,
) -> None:
    """Pause a replay after the current slice. Staged slices are kept.

    With --all --reason every replay of the context pauses, and none starts. `anabranch resume` continues.
    """
    from anabranch.replay.controls import ControlRequest

    _require_one_or_all(run, every, reason)
    if run is None:
        _switch_all(project, context, reason or "", output, paused=True)
        return
    with open_run(run, project, context) as backfill:
        _request(backfill, ControlRequest.PAUSE)
        _print_state(backfill, "will pause after the current slice", f"anabranch resume {backfill.run_id}", output)


def resume(
    run: OptionalRunId = None,
    every: All = False,
    reason: Reason = None,
    project: ProjectFolder = Path(),
    context: ContextName = None,
    output: Output = Format.TABLE,
) -> None:
    """Resume a paused replay, or lift `pause --all`.

    If its process has ended, continue it with `anabranch retry`.
    """
    from anabranch.app.approval import require_steering
    from anabranch.replay.controls import ControlRequest

    _require_one_or_all(run, every, reason)
    if run is None:
        _switch_all(project, context, reason or "", output, paused=False)
        return
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
        str | None, typer.Option("--rate", help="Maximum bytes per second, such as 20MiB; `none` removes the limit.")
    ] = None,
    ratio: Annotated[
        float | None,
        typer.Option("--ratio", min=0.01, max=1.0, help="Fraction of the rate that limits the run now, such as 0.5."),
    ] = None,
    exempt: Annotated[
        str | None,
        typer.Option("--exempt", help="Exempt the run from `governor` or `budget`; needs --for and --reason."),
    ] = None,
    lasting: Annotated[str | None, typer.Option("--for", help="Duration, such as 1h, after which it expires.")] = None,
    reason: Reason = None,
    project: ProjectFolder = Path(),
    context: ContextName = None,
    output: Output = Format.TABLE,
) -> None:
    """Limit a replay's read rate, or lift a limit for a while.

    Takes effect within two seconds, also in the current slice.
    """
    from anabranch.app.approval import require_steering
    from anabranch.project.quantities import format_rate
    from anabranch.replay.controls import EXEMPTIBLE, ControlRequest
    from anabranch.replay.throttling import base_rate

    if sum(given is not None for given in (rate, ratio, exempt)) != 1:
        raise typer.BadParameter("give one of --rate, --ratio and --exempt")
    seconds = None if lasting is None else _duration(lasting)
    until = {} if seconds is None else {"seconds": seconds}
    why = {} if reason is None else {"reason": reason}
    end = "" if lasting is None else f" for {lasting}"
    if exempt is not None:
        if exempt not in EXEMPTIBLE or seconds is None or not (reason or "").strip():
            raise typer.BadParameter("--exempt takes governor or budget, and needs --for and --reason")
        with open_run(run, project, context) as backfill:
            _require_operator(backfill.project_context, "exempt a run")
            _request(backfill, ControlRequest.EXEMPT, {"source": exempt, **until, **why})
            following = f"anabranch status {backfill.run_id}"
            _print_state(backfill, f"is exempt from the {exempt}{end}", following, output)
        return
    limit = None if rate is None else _rate(rate)
    with open_run(run, project, context) as backfill:
        require_steering(backfill, "throttle")
        base = {}
        if ratio is not None:
            of = base_rate(backfill.store.reader, backfill.run_id)
            limit, base = max(1, int(of * ratio)), {"base": of}
        _request(backfill, ControlRequest.THROTTLE, {"bytes_per_second": limit, **base, **until, **why})
        part = "" if ratio is None else f" ({ratio:g} of {format_rate(base['base'])})"
        allowed = f"at most {format_rate(limit)}{part}" if limit else "without a rate limit"
        message = f"reads {allowed}{end}; takes effect within two seconds"
        _print_state(backfill, message, f"anabranch status {backfill.run_id}", output)


def _rate(rate: str) -> int | None:
    from pydantic_core import PydanticCustomError

    from anabranch.project.quantities import parse_size

    try:
        return None if rate == "none" else parse_size(rate)
    except PydanticCustomError as error:
        raise typer.BadParameter(f"{rate!r} is not a rate; examples: 20MiB, 500kB, none") from error


def _duration(lasting: str) -> float:
    from pydantic_core import PydanticCustomError

    from anabranch.project.quantities import parse_duration

    try:
        return parse_duration(lasting).total_seconds()
    except PydanticCustomError as error:
        raise typer.BadParameter(f"{lasting!r} is not a duration; examples: 30m, 1h, 2h30m") from error


def _require_one_or_all(run: str | None, every: bool, reason: str | None) -> None:
    if (run is None) != every:
        raise typer.BadParameter("give a run, or --all")
    if every != bool((reason or "").strip()):
        raise typer.BadParameter("--all and --reason go together")


def _switch_all(project: Path, context: str | None, reason: str, output: Format, *, paused: bool) -> None:
    from anabranch.app.backfill import operator
    from anabranch.app.project_context import open_project
    from anabranch.app.replay_holds import pause_switch

    project_context = open_project(project, context)
    name, actor = project_context.loaded.context, operator()[1]
    with project_context.store() as store:
        switch = pause_switch(store)
        if paused:
            switch.pause(name, actor=actor, reason=reason)
            words = f"All replays of context {name} pause after their current slice; none starts."
        else:
            _require_operator(project_context, "resume all replays")
            was = switch.resume(name, actor=actor, reason=reason)
            words = f"The replays of context {name} resume." if was else f"Context {name} was not paused."
    following = 'anabranch resume --all --reason "…"' if paused else "anabranch list"
    document = {"context": name, "paused": paused, "message": words, "next": following}
    emit(document, output, lambda console: console.print(words, markup=False))
    say_next(following)


def _require_operator(project_context: ProjectContext, act: str) -> None:
    from anabranch.app.backfill import operator
    from anabranch.gates.approval.roles import require_named_operator

    require_named_operator(project_context.loaded.settings.roles, operator()[1], act)


def _request(backfill: BackfillRun, request: ControlRequest, details: dict[str, object] | None = None) -> None:
    from anabranch.app.backfill import operator
    from anabranch.replay.controls import require_replay_to_come

    require_replay_to_come(backfill.run_id, backfill.run.state)
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
