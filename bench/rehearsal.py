"""How long a rehearsal says that a replay of twenty times as many records takes, as a ratio to how long it does take.

Three times, each a rehearsal and then the whole replay on the same Spark session; the median counts.
"""

from __future__ import annotations

import statistics
import sys
from datetime import datetime, timezone

from bench.workbench import Bench, Quiet, bench, fill, keep, prepare, seconds, write_contract

from anabranch.app.backfill import BackfillRun
from anabranch.app.forecast import forecast_backfill
from anabranch.app.planning import plan_backfill
from anabranch.app.project_context import ProjectContext
from anabranch.app.rehearsal import build_rehearsal
from anabranch.plan.planner import Planned
from anabranch.plan.submission import submit
from anabranch.runs.states import Event

SLICE, TIMES, ROUNDS = 40_000, 20, 3
REHEARSED = SLICE * 5 // 2
"""Two and a half slices: see `readiness/rehearsal_slices.py`."""
RECORDS = REHEARSED * TIMES


def predicted(project_context: ProjectContext, planned: Planned) -> tuple[float, int]:
    """Seconds of the whole replay by a rehearsal of a twentieth, and how many records that rehearsal replayed."""
    request = planned.request
    with project_context.store() as store:
        spark = project_context.spark("bench")
        rehearsal = build_rehearsal(
            project_context, store, planned.plan, request.backfill, request.pipeline, "bench", spark
        )
        found, _ = rehearsal(datetime.now(timezone.utc))
    window = forecast_backfill(project_context, planned, datetime.now(timezone.utc), found).window
    if window is None:
        raise AssertionError("there was a rehearsal, and there is no window")
    return window.replay.total_seconds(), found.records


def measured(project_context: ProjectContext, planned: Planned) -> float:
    """Seconds of the whole replay, from the first look at the world to the last slice; then all is removed again."""
    with project_context.store() as store:
        now = datetime.now(timezone.utc)
        submitted = submit(store.writer, planned.plan, planned.request.contract, now=now, actor="bench")
        run = BackfillRun(project_context, store, submitted.id)
        with run.lease() as lease:
            took = seconds(lambda: run.replay(lease, Quiet()))
            lease.transition(Event.CANCEL)
            run.close(lease, datetime.now(timezone.utc), forfeit="measured")
    return took


def measure(place: Bench) -> dict[str, object]:
    fill(place.bootstrap, RECORDS)
    prepare(place, place.project_context.spark("bench"))
    contract = write_contract(place, "day")
    pairs = []
    for _ in range(ROUNDS):
        now = datetime.now(timezone.utc)
        planned = plan_backfill(place.project_context, contract, now=now, offsets_per_slice=SLICE)
        told, records = predicted(place.project_context, planned)
        took = measured(place.project_context, planned)
        pairs.append((told, took))
        sys.stderr.write(f"  {records:,} records rehearsed of {RECORDS:,}: {told:.1f} s told, {took:.1f} s taken\n")
    ratios = sorted(told / took for told, took in pairs)
    return {
        "rehearsal_prediction": round(statistics.median(ratios), 3),
        "rehearsal_prediction_rounds": [round(ratio, 3) for ratio in ratios],
        "rehearsal_times_larger": TIMES,
    }


def main() -> None:
    with bench() as place:
        keep(measure(place))


if __name__ == "__main__":
    main()
