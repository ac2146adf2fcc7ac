"""The gates of one backfill: measures due evidence, judges every gate, and refuses if one blocks."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from functools import cached_property

from anabranch.contract.backfill import Backfill
from anabranch.contract.pipeline import Pipeline
from anabranch.errors import NOTHING_CHANGED, AnabranchError, ExitCode
from anabranch.gates.acknowledgements import Acknowledgement, acknowledgements_of, record_acknowledgement
from anabranch.gates.approval.roles import require_named_operator, require_operator
from anabranch.gates.binding import byte_rate
from anabranch.gates.checks import rollback, storage_path
from anabranch.gates.checks.storage_path import StoragePath
from anabranch.gates.cleared import ClearedPlan
from anabranch.gates.evidence import keep_evidence
from anabranch.gates.facts import GateFacts
from anabranch.gates.measure import MEASURED, PROGRESS, ROLLBACK, GateMeasures, due_evidence
from anabranch.gates.overrides import GateOverride, keep_override, overrides_of
from anabranch.gates.ports import GateObserver, GateProbes
from anabranch.gates.scorecard import CARD, GATES, Scorecard, require_open, score
from anabranch.gates.stakes import DRILL_LABEL, Stakes, drilled, stakes_of
from anabranch.plan.drift import Drift, Stage, drift_at
from anabranch.plan.forecast.rehearsed import variants_of
from anabranch.plan.plan import Plan
from anabranch.plan.slices import offsets_in
from anabranch.project.sections.approval import RoleSettings
from anabranch.project.sections.gates import HighVolume
from anabranch.runs.run_lease import RunStore
from anabranch.runs.states import State

STILL_READING = frozenset({State.PLANNED, State.REPLAYING, State.PAUSED, State.FAILED})


class GateUnknownError(AnabranchError):
    code = "gates.unknown"
    exit_code = ExitCode.USAGE


@dataclass(frozen=True)
class GatePolicy:
    """The requirements of the project's context."""

    context: str
    enforced: bool
    high_volume: HighVolume
    roles: RoleSettings
    needs_approval: bool


def stage_of(state: State) -> Stage:
    """Which drift matters: a run that still reads depends on every pinned input, a staged one on fewer."""
    return Stage.REPLAYING if state in STILL_READING else Stage.STAGED


@dataclass(frozen=True)
class GateService:
    """The gates of a run, or of a contract that was planned and not submitted."""

    policy: GatePolicy
    observer: GateObserver
    probes: GateProbes
    store: RunStore
    plan: Plan
    contract: Backfill
    pipeline: Pipeline
    person: str
    run: str | None = None
    say: Callable[[str], object] = lambda _: None
    """Prints a progress line."""
    clock: Callable[[], datetime] = lambda: datetime.now(timezone.utc)
    """Dates evidence and scorecards."""

    @cached_property
    def _measures(self) -> GateMeasures:
        return GateMeasures(self.probes, self.store, self.plan, self.contract, self.pipeline, self.person, self.run)

    def score(self) -> Scorecard:
        """Judge every gate by an observation made now and by recorded evidence. Measures nothing."""
        facts = self._facts()
        return score(facts, self._overrides, self._stakes(facts), self._acknowledgements)

    def due(self, kinds: Collection[str]) -> tuple[str, ...]:
        """The kinds without valid evidence: never measured, expired, or refused at the last attempt."""
        return due_evidence(kinds, self._measures.known(), self.clock())

    def measure(self, say: Callable[[str], object], kinds: Collection[str] = MEASURED) -> tuple[str, ...]:
        """Measure those that are due, and return them. Repeating it measures nothing while the evidence is valid."""
        self._require_kafka()
        now = self.clock()
        due = self.due(kinds)
        for kind in due:
            say(PROGRESS[kind])
            self._measures.measure(kind, now)
        return due

    def clear_for_replay(self) -> ClearedPlan:
        """The plan, if no gate blocks its replay; raises GateClosedError otherwise.

        Measures nothing: what was not measured is red, and `gates/stakes.py` defines whether that blocks.
        Red gates that do not block are recorded as acknowledged when this returns, and were printed.
        """
        card = self.score()
        if DRILL_LABEL in self.contract.metadata.labels:
            card = replace(card, stakes=drilled(card.stakes, self._records, self.policy.high_volume))
        require_open(card, state="No record was read. Production unchanged.")
        self._acknowledge_automatically(card)
        return ClearedPlan(self.plan, card)

    def rollback_rehearsal_due(self) -> bool:
        """Whether there is no valid evidence of a rehearsed rollback."""
        return bool(self.due(ROLLBACK))

    def rehearse_rollback(self, say: Callable[[str], object]) -> bool:
        """Rehearse promotion and rollback on a scratch branch if that is due. Returns whether it was."""
        return bool(self.measure(say, ROLLBACK))

    def require_for_promotion(self) -> None:
        """Raise GateClosedError unless the rollback gate is green: rehearsed on this table, with valid evidence."""
        card = self.score()
        require_open(card, state="Production unchanged. Staging is kept.", green=(rollback.NAME,))
        self._acknowledge_automatically(card)

    def acknowledge(self, reason: str) -> Scorecard:
        """Acknowledge by name, on record, every red gate that may be acknowledged. Returns the new card.

        Raises GateClosedError if a red gate can't be acknowledged.
        """
        self._require_operator("acknowledge the red gates")
        card = self.score()
        if card.to_acknowledge:
            self._record(card, reason, automatic=False)
            card = replace(card, acknowledgements=self._acknowledgements)
        require_open(card, state=NOTHING_CHANGED)
        return card

    def override(self, gate: str, reason: str) -> GateOverride:
        """Override a gate of any colour by name. The override is recorded and shown with the run.

        Raises GateUnknownError, or NotOperatorError if the roles name other people.
        """
        if gate not in GATES:
            raise GateUnknownError(
                f"Gate {gate!r} does not exist.",
                state=NOTHING_CHANGED,
                hint=f"Name one of {', '.join(GATES)}.",
                gate=gate,
            )
        self._require_operator("override a gate")
        stands = next(each for each in self.score().judgements if each.gate == gate)
        return keep_override(
            self.store.writer,
            gate,
            reason,
            by=self.person,
            contract=self.plan.contract,
            run_id=self.run,
            colour=stands.colour.value,
            words=stands.words,
        )

    def keep(self, card: Scorecard) -> None:
        """Record the card itself, for readers of the run's record who can't observe the cluster."""
        ends = [each.good_until for each in card.judgements if each.good_until is not None]
        until, subject = min(ends, default=card.at), f"plan/{card.plan}"
        writer = self.store.writer
        keep_evidence(writer, CARD, subject, card.document(), by=self.person, good_until=until, run_id=self.run)

    def _acknowledge_automatically(self, card: Scorecard) -> None:
        """Record the context's automatic acknowledgements, once for each run and gate, and print every red gate."""
        if card.to_acknowledge:
            self._record(card, card.stakes.words, automatic=True)
        for each in card.judgements:
            if each.cause == "unknown" and each.gate not in card.overrides:
                self.say(f"red       {each.gate}: {each.words} (acknowledged; turns green by: {each.to_green})")

    def _record(self, card: Scorecard, reason: str, *, automatic: bool) -> None:
        record_acknowledgement(
            self.store.writer,
            card.to_acknowledge,
            reason,
            by=self.person,
            contract=self.plan.contract,
            run_id=self.run,
            automatic=automatic,
        )

    def _require_operator(self, act: str) -> None:
        if self.run is None:
            require_named_operator(self.policy.roles, self.person, act)
        else:
            require_operator(self.policy.roles, self.person, self.store.reader.run(self.run), f"{act} of")

    @property
    def _overrides(self) -> dict[str, GateOverride]:
        return dict(overrides_of(self.store.reader, run_id=self.run, contract=self.plan.contract))

    @property
    def _acknowledgements(self) -> dict[str, Acknowledgement]:
        return dict(acknowledgements_of(self.store.reader, run_id=self.run, contract=self.plan.contract))

    @property
    def _records(self) -> int:
        """Upper bound of the records that the replay reads; a control reads them a second time."""
        return variants_of(self.plan) * offsets_in(self.plan.source.ranges)

    def _stakes(self, facts: GateFacts) -> Stakes:
        """By the plan's offsets, and by the bytes that the storage-path gate measured."""
        evidence = facts.evidence.get(storage_path.KIND)
        size = None if evidence is None else StoragePath.read(evidence.found).bytes
        return stakes_of(
            enforced=self.policy.enforced,
            context=self.policy.context,
            business_critical=self.pipeline.spec.business_critical,
            records=self._records,
            bytes_=None if size is None else variants_of(self.plan) * size,
            limit=self.policy.high_volume,
        )

    def _require_kafka(self) -> None:
        """Raises KafkaUnreachableError: otherwise each gate would wait for its own timeout and be red."""
        self.observer.require_answer()

    def _facts(self) -> GateFacts:
        self._require_kafka()
        residency = self.observer.residency()
        drifts: tuple[Drift, ...] = ()
        if self.run is not None:
            stage = stage_of(self.store.reader.run(self.run).state)
            drifts = drift_at(self.plan, self.observer.inputs(), stage)
        return GateFacts(
            now=self.clock(),
            plan=self.plan,
            contract=self.contract,
            pipeline=self.pipeline,
            drifts=drifts,
            live=self.observer.live(),
            closing=self.observer.closing(),
            residency=residency,
            approvers=tuple(self.policy.roles.approvers) if self.policy.needs_approval else None,
            metrics=self.observer.metrics(),
            reaches=self.observer.reaches(),
            quota=self.observer.quota(byte_rate(self.contract)),
            evidence=self._measures.known(),
            retention=self.observer.retention(),
            run=self.run,
        )
