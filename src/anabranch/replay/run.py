"""Replays a run into staging: executes the plan's steps from the gates to the last slice, in the order of its list."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass

from anabranch.errors import AnabranchError, ExitCode
from anabranch.gates.cleared import ClearedPlan
from anabranch.plan.drift import InputObserver
from anabranch.plan.plan import Plan
from anabranch.plan.slices import Slice
from anabranch.plan.steps import (
    ControlSlice,
    CopyCheckpoint,
    MakeControlStaging,
    MakeStaging,
    PassGates,
    RecordIsolation,
    ReplaySlice,
    SliceStep,
    StageFromSnapshot,
    slice_steps,
    steps_for,
)
from anabranch.replay.drift_guard import DriftGuard, drift_guard, staged_ids
from anabranch.replay.limits import Limits
from anabranch.replay.pacing import Pacing
from anabranch.replay.ports import CheckpointCopier, IsolationObserver, ReplayEngine, ReplayGates
from anabranch.replay.replayer import Clock, ReplayEnd, Replayer, ReplayVariant, RunObserver, SliceWriter
from anabranch.replay.retention_guard import PlanOrder, SliceOrder
from anabranch.replay.service_watch import ServiceWatch
from anabranch.replay.staged import StagedRun, StoppedReplay, staged_run
from anabranch.replay.staging import Staging, StagingTarget, take_staging
from anabranch.runs.hooks import HookedStep, no_hooks
from anabranch.runs.journal import Outcome
from anabranch.runs.run_lease import RunLease


class CatchUpStoppedError(AnabranchError):
    code = "promote.catch-up-stopped"
    exit_code = ExitCode.INTERRUPTED


@dataclass(frozen=True)
class ReplayRun:
    lease: RunLease
    plan: Plan
    target: StagingTarget
    observer: RunObserver
    gates: Callable[[], ReplayGates]
    engine: ReplayEngine
    inputs: InputObserver
    limits: Callable[[], Limits]
    """Like the gates, read after drift is checked: a contract whose files are missing does not load."""
    observe_isolation: IsolationObserver
    copy_checkpoint: CheckpointCopier
    watch_services: Callable[[], ServiceWatch]
    """A new watch of Kafka, the catalog and the control database, for one replay."""
    clock: Clock
    pacing: Callable[[], AbstractContextManager[Pacing]]
    """Limits and brakes of one replay, entered for as long as it reads: what they set up is removed at the exit."""
    turn: Callable[[], StoppedReplay | None] = lambda: None
    """Waits until nothing holds the run; returns how the replay stopped if it did so meanwhile."""
    hooks: Callable[[], AbstractContextManager[HookedStep]] = no_hooks
    """Of the context: one before the first slice, after the gates, and one at the end."""
    retention: Callable[[], AbstractContextManager[SliceOrder]] = lambda: nullcontext(PlanOrder())
    """The race against retention, entered for as long as the plan's slices are read: what it extends is restored at the
    exit."""

    def __call__(self) -> StagedRun | StoppedReplay:
        """Replay the slices that are not in staging yet, in the run's turn.

        If the replay is stopped while it waits for its turn, nothing was done and no hook was run. If drift, limits or
        gates refuse, no staging was created, the engine was not started and no user code loaded.
        """
        stopped = self.turn()
        if stopped is not None:
            return stopped
        with self.hooks() as hooks:
            ended = self._replay(hooks)
            hooks.outcome = ended.end.value
            return ended

    def _replay(self, hooks: HookedStep) -> StagedRun | StoppedReplay:
        steps = steps_for(self.plan, "replay")
        slices = slice_steps(steps)
        guard = self._guard(slices)
        cleared: ClearedPlan | None = None
        variants: list[ReplayVariant] = []
        writers: dict[str, SliceWriter] = {}
        with ExitStack() as preparing:
            for step in steps:
                match step:
                    case PassGates():
                        cleared = self._pass_gates(step, guard)
                        hooks.begin()
                    case RecordIsolation():
                        self._record_isolation(step)
                        self.engine.start(self.observer.phase)
                        self.observer.phase("loading the transform")
                        writers.update(self._writers())
                        preparing.enter_context(_prepared(writers.values(), slices))
                    case MakeStaging() | StageFromSnapshot():
                        self.observer.phase("preparing staging")
                        variants.append(self._variant(step.name, ReplaySlice.name, writers))
                    case MakeControlStaging():
                        self.observer.phase("preparing the control's staging")
                        variants.append(self._variant(step.name, ControlSlice.name, writers))
                    case CopyCheckpoint():
                        with self.lease.performing(step.name):
                            self.copy_checkpoint(self.lease.epoch, len(self._staged_ids()))
                    case ReplaySlice() | ControlSlice():
                        break
                    case _:
                        raise AssertionError(f"step {step.name} is not one of the replay")
        if cleared is None:
            raise AssertionError(f"the plan of run {self.lease.run_id} has no step that passes its gates")
        with self.pacing() as pacing, self.retention() as order:
            replayer = self._replayer(cleared.plan, variants, guard, self.limits(), pacing, order)
            return self._ended(replayer(slices))

    def catch_up(self, missed: Sequence[Slice]) -> StagedRun:
        """Replay slices of what live committed after the base, by the corrected code only; a control has no part.

        Raises CatchUpStoppedError if the replay was paused or cancelled. Schedule and budget were checked when the
        promotion began.
        """
        slices = tuple(ReplaySlice(slice_) for slice_ in missed)
        guard = self._guard(slices)
        self.observer.phase("catching up with live")
        guard.check()
        self.engine.start(self.observer.phase)
        writer = self.engine.writer(self.observer.notice)
        with _prepared([writer], slices):
            variant = ReplayVariant(ReplaySlice.name, self._staging(), writer)
        with self.pacing() as pacing:
            replayer = self._replayer(self.plan, [variant], guard, lambda: None, pacing, PlanOrder())
            ended = self._ended(replayer(slices))
        match ended:
            case StagedRun():
                return ended
            case StoppedReplay(run, end):
                raise CatchUpStoppedError(
                    f"Run {run} was {end.value} while it caught up with live; it was not promoted.",
                    state=f"{self.plan.target.table} is unchanged by run {run}; staging is kept.",
                    command=f"anabranch {'promote' if end is ReplayEnd.PAUSED else 'close'} {run}",
                    run=run,
                    end=end.value,
                )

    def _ended(self, end: ReplayEnd) -> StagedRun | StoppedReplay:
        if end is ReplayEnd.STAGED:
            return staged_run(self.lease, self.plan, self.target)
        return StoppedReplay(self.lease.run_id, end)

    def _writers(self) -> Mapping[str, SliceWriter]:
        """By the name of their steps."""
        own = {ReplaySlice.name: self.engine.writer(self.observer.notice)}
        return own if self.plan.control is None else {**own, ControlSlice.name: self.engine.control_writer()}

    def _pass_gates(self, step: PassGates, guard: DriftGuard) -> ClearedPlan:
        self.observer.phase("checking drift, limits and gates")
        with self.lease.performing(step.name):
            guard.check()
            self.limits().require_open()
            return self.gates().clear_for_replay()

    def _record_isolation(self, step: RecordIsolation) -> None:
        """Once, before the first record is read: the isolation certificate compares the end of the run with it."""
        journal = self.lease.reader.journal(self.lease.run_id)
        if not any(entry.step == step.name for entry in journal):
            seen = self.observe_isolation()
            intent = f"{self.lease.run_id}-{step.name}"
            self.lease.record_outcome(self.lease.record_intent(step.name, seen, intent=intent), Outcome.SUCCEEDED)

    def _variant(self, step: str, slices: str, writers: dict[str, SliceWriter]) -> ReplayVariant:
        """Staging for one version of the code, and the writer of its slices."""
        with self.lease.performing(step) as details:
            staging = self._staging(control=slices == ControlSlice.name)
            details["staging"] = staging.name
        return ReplayVariant(slices, staging, writers[slices])

    def _staging(self, *, control: bool = False) -> Staging:
        return take_staging(self.lease, self.plan, self.target, control=control)

    def _staged_ids(self) -> set[str]:
        return staged_ids(self.target, self.plan, self.lease.run_id)

    def _guard(self, slices: Sequence[SliceStep]) -> DriftGuard:
        return drift_guard(self.lease, self.plan, self.target, self.inputs, slices)

    def _replayer(
        self,
        plan: Plan,
        variants: Sequence[ReplayVariant],
        guard: DriftGuard,
        limits: Callable[[], ReplayEnd | None],
        pacing: Pacing,
        order: SliceOrder,
    ) -> Replayer:
        return Replayer(
            self.lease,
            plan,
            self.target,
            tuple(variants),
            guard,
            self.observer,
            self.clock,
            self.limits().bytes_per_second,
            limits,
            self.watch_services(),
            pacing,
            order,
        )


@contextmanager
def _prepared(writers: Iterable[SliceWriter], slices: Sequence[SliceStep]) -> Iterator[None]:
    """Compile the first slice's query while staging is created: both take about as long.

    An error in it surfaces when the first slice is written, which compiles the query again.
    """
    with ThreadPoolExecutor(1, thread_name_prefix="prepare") as executor:
        for writer in writers if slices else ():
            executor.submit(writer.prepare, slices[0].slice)
        yield
