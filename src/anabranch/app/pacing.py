"""What a replay is held to besides its contract and its operators, built from the project's settings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from anabranch.app.impact import impact_experiment
from anabranch.app.project_context import ProjectContext
from anabranch.contract.pipeline import Pipeline
from anabranch.plan.plan import Plan
from anabranch.replay.allowance import Allowance, RateSource
from anabranch.replay.pacing import Pacing, record_change
from anabranch.replay.replayer import RunObserver
from anabranch.runs.run_lease import RunLease


@contextmanager
def replay_pacing(
    project_context: ProjectContext,
    lease: RunLease,
    plan: Plan,
    pipeline: Pipeline,
    observer: RunObserver,
    holds: Sequence[RateSource] = (),
) -> Iterator[Pacing]:
    """The limits and brakes of one replay. What they set up at the brokers is removed at the exit.

    `holds` are the sources that could already hold the run before it started.
    """

    def changed(allowance: Allowance) -> None:
        record_change(lease, observer.notice, allowance)

    with impact_experiment(project_context, lease, plan, pipeline) as experiment:
        yield Pacing(sources=tuple(holds), brakes=(), changed=changed, experiment=experiment)
