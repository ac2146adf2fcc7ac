"""`anabranch impact`: what a replay does to live, measured while it runs, in blocks with and without it."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anabranch.cli.options import ContextName, ProjectFolder, RunId, open_run
from anabranch.cli.output import Format, Output, emit, print_table, say, say_next
from anabranch.errors import NOTHING_CHANGED, AnabranchError, ExitCode
from anabranch.gates.impact.design import PAIRS
from anabranch.gates.impact.effect import LEAST_PAIRS, MOST_PAIRS

if TYPE_CHECKING:
    from rich.console import Console

    from anabranch.app.backfill import BackfillRun
    from anabranch.gates.evidence import Evidence
    from anabranch.readiness.impact_requests import ImpactProgress

POLL_SECONDS = 1.0


class ImpactUnknownError(AnabranchError):
    code = "impact.unknown"
    exit_code = ExitCode.REFUSED


def impact(
    run: RunId,
    pairs: Annotated[
        int,
        typer.Option(
            min=1,
            max=MOST_PAIRS,
            help=f"Pairs of blocks, with and without the replay. Fewer than {LEAST_PAIRS} give no 95 % interval.",
            show_default=True,
        ),
    ] = PAIRS,
    block: Annotated[
        float | None,
        typer.Option(min=4, help="Seconds of a block.", show_default="20, or twice live's batches of over 10 s"),
    ] = None,
    wait: Annotated[bool, typer.Option(help="Wait for the result.")] = True,
    project: ProjectFolder = Path(),
    context: ContextName = None,
    output: Output = Format.TABLE,
) -> None:
    """Measure the effect of a replay on live latency and lag.

    The replay is switched off and on in random pairs of blocks; in a block without it nothing is read. If no
    replay runs, the last result is shown. Ctrl-C ends the wait; the experiment goes on.
    """
    with open_run(run, project, context) as backfill:
        progress = _progress(backfill)
        if _is_replaying(backfill):
            if progress is None or progress.ended is not None:
                _request(backfill, pairs, block)
            if not wait:
                say_next(f"anabranch impact {backfill.run_id}")
                return
            _await(backfill)
        _show(backfill, output)


def _request(backfill: BackfillRun, pairs: int, block: float | None) -> None:
    import secrets

    from anabranch.app.approval import require_steering
    from anabranch.app.backfill import operator
    from anabranch.readiness.impact_requests import REQUESTED

    require_steering(backfill, "measure the effect of")
    details = {"pairs": pairs, "block_seconds": block, "seed": secrets.randbits(32)}
    backfill.store.writer.record_act(REQUESTED, actor=operator()[1], run_id=backfill.run_id, details=details)


def _is_replaying(backfill: BackfillRun) -> bool:
    """Whether a living process replays the run."""
    from anabranch.runs.lease_holder import is_gone
    from anabranch.runs.states import State

    lease = backfill.store.reader.lease(backfill.run_id)
    alive = lease.held_by_another("", datetime.now(timezone.utc)) and not is_gone(lease.holder or "")
    return alive and backfill.run.state in (State.REPLAYING, State.PAUSED)


def _progress(backfill: BackfillRun) -> ImpactProgress | None:
    from anabranch.readiness.impact_requests import read_progress

    return read_progress(backfill.store.reader.audit(run_id=backfill.run_id))


def _await(backfill: BackfillRun, sleep: Callable[[float], None] = time.sleep) -> None:
    """Return when the experiment has ended, or its process has. Prints a line for each block."""
    shown, gone = "", 0
    while gone < 2:
        gone = 0 if _is_replaying(backfill) else gone + 1
        progress = _progress(backfill)
        if progress is None or progress.ended is not None:
            return
        words = progress_words(progress, datetime.now(timezone.utc))
        if words.split(";")[0] != shown:
            say(words)
            shown = words.split(";")[0]
        sleep(POLL_SECONDS)


def progress_words(progress: ImpactProgress, now: datetime) -> str:
    """One line: "block 5 of 24, without the replay; 6 min 20 s left"."""
    from anabranch.runs.canonical import instant

    design = progress.design
    if design is None or progress.started_at is None:
        return "observing live until the replay reads and the length of live's batches is known"
    elapsed = (now - instant(progress.started_at)).total_seconds()
    block = design.block_at(max(0.0, elapsed))
    if block is None:
        return "all blocks are over; waiting until live has committed what arrived in the last one"
    minutes, seconds = divmod(round(design.seconds + design.block_seconds / 2 - elapsed), 60)
    left = f"{minutes} min {seconds} s" if minutes else f"{seconds} s"
    return f"block {block.number} of {2 * design.pairs}, {'with' if block.on else 'without'} the replay; {left} left"


def _show(backfill: BackfillRun, output: Format) -> None:
    """Print the newest result, and write its page. Raises ImpactUnknownError without one."""
    from anabranch.gates.impact.stored import newest_impact
    from anabranch.pages.impact import render_impact
    from anabranch.project.atomic_write import atomic_write

    found = newest_impact(backfill.store.reader, backfill.plan, backfill.contract, backfill.run_id)
    if found is None:
        progress = _progress(backfill)
        ended = None if progress is None or progress.ended is None else progress.ended["reason"]
        raise ImpactUnknownError(
            f"The effect of run {backfill.run_id} on live was not measured.",
            state=NOTHING_CHANGED,
            command=f"anabranch impact {backfill.run_id}",
            hint="Run it while the run replays; `anabranch rehearse -f CONTRACT --pairs 12` measures without a run.",
            reason=ended or "no experiment was carried out",
        )
    page = backfill.folder / "impact.html"
    page.parent.mkdir(parents=True, exist_ok=True)
    atomic_write(page, render_impact(found, f"run {backfill.run_id}"))
    document = {"run": backfill.run_id, **impact_document(found), "page": str(page)}
    emit(document, output, lambda console: print_impact(console, found))
    say(f"page      {page}")


def impact_document(found: Evidence) -> dict[str, Any]:
    return {"at": found.at.isoformat(), "by": found.by, **dict(found.found)}


def print_impact(console: Console, found: Evidence) -> None:
    """The effects as sentences, and every pair as a row."""
    from anabranch.gates.impact.measured import lag_words, latency_words, read_impact
    from anabranch.project.quantities import format_rate

    result = read_impact(found.found)
    for words in (latency_words(result), lag_words(result)):
        console.print(words, markup=False)
    console.print(
        f"Measured {found.at:%Y-%m-%d %H:%M} UTC in a {result.source}: {result.design.pairs} pairs of blocks of "
        f"{result.design.block_seconds:g} s, order by seed {result.design.seed}.",
        markup=False,
    )
    if result.ended is not None:
        console.print(f"Ended early: {result.ended}.", markup=False)
    rows = [
        (
            pair.with_replay.pair,
            "on, off" if pair.with_replay.number < pair.without.number else "off, on",
            _seconds(pair.with_replay.latency),
            _seconds(pair.without.latency),
            _count(pair.with_replay.lag),
            _count(pair.without.lag),
            format_rate(pair.with_replay.bytes / max(0.001, pair.with_replay.seconds)),
            f"does not count: {pair.flaw}" if pair.flaw else "",
        )
        for pair in result.pairs
    ]
    headings = ("pair", "order", "latency on", "off", "lag on", "off", "replay read", "")
    print_table(console, headings, rows)


def _seconds(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.2f} s"


def _count(value: float | None) -> str:
    return "unknown" if value is None else f"{value:,.0f}"
