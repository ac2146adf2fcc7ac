"""A process that holds a run's lease and its broker quota, as a replay does, without Spark; killed at crash points.

Arguments: the project's folder, the run's id, the limit in bytes per second.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.fixtures.broker import eventually
from tests.scenarios.backfills import Onlooker

from anabranch.app.backfill import BackfillRun
from anabranch.app.pacing import replay_pacing
from anabranch.app.project_context import open_project
from anabranch.replay.allowance import Allowance


def main(folder: str, run_id: str, rate: str) -> None:
    project_context = open_project(Path(folder), "dev")
    with project_context.store(create=False) as store:
        run = BackfillRun(project_context, store, run_id)
        with run.lease() as lease, replay_pacing(project_context, lease, run.plan, run.pipeline, Onlooker()) as pacing:
            pacing.heed(Allowance("contract", "budget.bytesPerSecond", int(rate)))
            eventually(lambda: any(each.set_at for each in store.reader.quotas(run_id=run_id, only_open=True)))


if __name__ == "__main__":
    main(*sys.argv[1:])
