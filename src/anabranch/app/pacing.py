"""What a replay is held to besides its contract and its operators, built from the project's settings."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from anabranch.app.governing import governing
from anabranch.app.impact import impact_experiment
from anabranch.app.project_context import ProjectContext
from anabranch.app.quotas import quota_brake
from anabranch.contract.pipeline import Pipeline
from anabranch.errors import AnabranchError
from anabranch.plan.plan import Plan
from anabranch.replay.allowance import Allowance, RateSource
from anabranch.replay.pacing import Pacing, ReadCount, note_pace, record_change
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
    meter = ReadCount()

    def changed(allowance: Allowance) -> None:
        record_change(lease, observer.notice, allowance)

    with (
        governing(project_context, lease, plan, pipeline, meter) as governor,
        impact_experiment(project_context, lease, plan, pipeline) as experiment,
        quota_brake(project_context, lease, plan, observer.notice, lambda: meter.throttled_ms) as brakes,
    ):

        def noted(allowance: Allowance) -> None:
            # Only shown: a database that does not answer is reported by who watches the services.
            with suppress(AnabranchError):
                note_pace(lease, allowance, {"governor": governor.document(), "bytes_read": meter.bytes})

        yield Pacing(
            sources=(*holds, governor),
            brakes=brakes,
            changed=changed,
            experiment=experiment,
            noted=noted,
            meter=meter,
            clock=time.monotonic,
        )
