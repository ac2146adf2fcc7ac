"""Builds the experiment of a running replay on the project's cluster and catalog, and runs it in a thread."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread

from anabranch.app.live_position import ProjectLivePosition
from anabranch.app.project_context import ProjectContext
from anabranch.contract.backfill import Backfill as Contract
from anabranch.contract.pipeline import Pipeline
from anabranch.errors import AnabranchError
from anabranch.plan.plan import Plan
from anabranch.readiness.impact_experiment import ImpactExperiment
from anabranch.readiness.impact_log import AuditedExperiments
from anabranch.runs.run_lease import RunLease

CLIENT_ID = "anabranch-impact"
STOP_SECONDS = 30.0
"""How long the end of a replay waits for a look at live, such as at a catalog that does not answer."""


@contextmanager
def impact_experiment(
    project_context: ProjectContext, lease: RunLease, plan: Plan, pipeline: Pipeline
) -> Iterator[ImpactExperiment]:
    """Carries out what is requested while the block runs. At its end a result has the blocks that were complete."""

    def contract() -> Contract:
        document = lease.reader.documents(lease.run_id).contract
        return Contract.model_validate(document, context=project_context.loaded.surroundings)

    experiment = ImpactExperiment(
        AuditedExperiments(lease, plan, contract),
        lambda: ProjectLivePosition.of(project_context, pipeline, CLIENT_ID),
    )
    stop = Event()

    def run() -> None:
        while not stop.wait(experiment.seconds_to_next_tick):
            # Such as a control database that does not answer: the next tick tries again. A thread that ended would
            # leave requests unanswered.
            with suppress(Exception):
                experiment.tick()

    thread = Thread(target=run, daemon=True, name="impact")
    thread.start()
    try:
        yield experiment
    finally:
        stop.set()
        thread.join(STOP_SECONDS)
        with suppress(AnabranchError):
            experiment.stop("the replay ended")
