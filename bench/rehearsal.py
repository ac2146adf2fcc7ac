"""How long a rehearsal says that a replay of twenty times as many records takes, as a ratio to how long it does take.

Three times, each a rehearsal and then the whole replay on the same Spark session; the median counts.
"""

from __future__ import annotations

import statistics
import sys
from datetime import datetime, timezone

from bench.workbench import Bench, Quiet, bench, fill, keep, prepare, seconds, write_contract

from anabranch.plan.planner import Planned
from anabranch.runs.states import Event
from anabranch.wiring.backfill import BackfillRun, submit
from anabranch.wiring.planning import plan_backfill
from anabranch.wiring.prospect import look_at_prospect
from anabranch.wiring.rehearsal import Rehearsal
from anabranch.wiring.workplace import Workplace

SLICE, TIMES, ROUNDS = 40_000, 20, 3
REHEARSED = SLICE * 5 // 2
"""Two and a half slices: see `plan/pieces.py`."""
RECORDS = REHEARSED * TIMES


def predicted(workplace: Workplace, planned: Planned) -> tuple[float, int]:
    """Seconds of the whole replay by a rehearsal of a twentieth, and how many records that rehearsal replayed."""
    asked = planned.asked
    with workplace.store() as store:
        spark = workplace.spark("bench")
        found, _ = Rehearsal(workplace, store, planned.plan, asked.backfill, asked.pipeline, "bench", spark)(
            datetime.now(timezone.utc)
        )
    window = look_at_prospect(workplace, planned, datetime.now(timezone.utc), found).window
    if window is None:
        raise AssertionError("there was a rehearsal, and there is no window")
    return window.replay.total_seconds(), found.records


def measured(workplace: Workplace, planned: Planned) -> float:
    """Seconds of the whole replay, from the first look at the world to the last slice; then all is removed again."""
    with workplace.store() as store:
        now = datetime.now(timezone.utc)
        submitted = submit(store, planned.plan, planned.asked.contract, now=now, actor="bench")
        run = BackfillRun(workplace, store, submitted.id)
        with run.hold() as hold:
            took = seconds(lambda: run.replay(hold, Quiet()))
            hold.move(Event.CANCEL)
            run.close(hold, datetime.now(timezone.utc), forfeit="measured")
    return took


def measure(place: Bench) -> dict[str, object]:
    fill(place.bootstrap, RECORDS)
    prepare(place, place.workplace.spark("bench"))
    contract = write_contract(place, "day")
    pairs = []
    for _ in range(ROUNDS):
        now = datetime.now(timezone.utc)
        planned = plan_backfill(place.workplace, contract, now=now, offsets_per_slice=SLICE)
        told, records = predicted(place.workplace, planned)
        took = measured(place.workplace, planned)
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
