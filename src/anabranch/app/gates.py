"""The gates of one backfill: what is missing is measured, all is judged, and what blocks is refused."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from functools import cached_property

from anabranch.adapters.iceberg.target import IcebergTarget
from anabranch.adapters.kafka.answering import require_answer
from anabranch.adapters.sql.store import SqlRunStore
from anabranch.app.gate_looks import (
    CLIENT_ID,
    look_at_closing,
    look_at_code,
    look_at_live,
    look_at_metrics,
    look_for_drift,
)
from anabranch.app.gate_measures import GateMeasures
from anabranch.app.project_context import ProjectContext
from anabranch.contract.backfill import Backfill as Contract
from anabranch.contract.pipeline import Pipeline
from anabranch.errors import NOTHING_CHANGED, AnabranchError, ExitCode
from anabranch.gates.acknowledgements import Acknowledgement, acknowledgements_of, record_acknowledgement
from anabranch.gates.approval.roles import require_named_operator, require_operator
from anabranch.gates.checks import compatibility, rollback, schema, storage_path
from anabranch.gates.checks.storage_path import StoragePath
from anabranch.gates.evidence import Evidence, keep_evidence
from anabranch.gates.facts import GateFacts
from anabranch.gates.overrides import GateOverride, keep_override, overrides_of
from anabranch.gates.scorecard import CARD, GATES, Scorecard, require_open, score
from anabranch.gates.stakes import Stakes, drilled, stakes_of
from anabranch.plan.drift import Drift
from anabranch.plan.forecast.rehearsed import variants_of
from anabranch.plan.plan import Plan
from anabranch.plan.slices import offsets_in
from anabranch.project.sections.gates import HighVolume
from anabranch.readiness.drill_report import LABEL
from anabranch.replay.staging import epoch_of

READS = (storage_path.KIND, schema.KIND)
"""What is measured by reading a little, and nothing else."""
WAY_BACK = (rollback.KIND,)
KINDS = (compatibility.KIND, *READS, *WAY_BACK)
"""All that can be measured here."""
RESIDENCY = "residency"
"""The property of a table that says where its data must stay."""


class GateUnknownError(AnabranchError):
    code = "gates.unknown"
    exit_code = ExitCode.USAGE


@dataclass(frozen=True)
class GateService:
    """Of a run, or of a contract that was planned and not submitted."""

    project_context: ProjectContext
    store: SqlRunStore
    plan: Plan
    contract: Contract
    pipeline: Pipeline
    person: str
    run: str | None = None
    say: Callable[[str], object] = lambda _: None
    """Shows a line to whoever waits."""
    clock: Callable[[], datetime] = lambda: datetime.now(timezone.utc)
    """As evidence is dated."""

    @cached_property
    def _measures(self) -> GateMeasures:
        return GateMeasures(
            self.project_context, self.store, self.plan, self.contract, self.pipeline, self.person, self.run
        )

    def score(self) -> Scorecard:
        """Every gate as it stands, by a look at the world and what was measured before. Takes no measurement."""
        facts = self._facts()
        return score(facts, self._overrides, self._stakes(facts), self._acknowledgements)

    def due(self, kinds: Collection[str]) -> tuple[str, ...]:
        """Those without valid evidence: never measured, expired, or refused when it was tried."""
        now, known = self.clock(), self._measures.known()
        return tuple(
            kind
            for kind in kinds
            if kind not in known or not known[kind].counts(now) or known[kind].found.get("refused") is not None
        )

    def measure(self, say: Callable[[str], object], kinds: Collection[str] = KINDS) -> tuple[str, ...]:
        """Measure those that are due, and return them. What is made for it is scratch, and is removed."""
        self._require_kafka()
        now = self.clock()
        acts: dict[str, tuple[str, Callable[[], Evidence]]] = {
            compatibility.KIND: ("Trying the cluster out …", lambda: self._measures.try_cluster(now)),
            storage_path.KIND: ("Reading a little of the range …", lambda: self._measures.measure_storage(now)),
            schema.KIND: ("Decoding a sample of the range …", lambda: self._measures.sample_schema(now)),
            rollback.KIND: ("Rehearsing the way back …", lambda: self._rehearse(now)),
        }
        due = self.due(kinds)
        for kind in due:
            words, act = acts[kind]
            say(words)
            act()
        return due

    def require_for_replay(self) -> None:
        """Measures nothing: what was not measured is red, and `gates/stakes.py` says whether that blocks.

        Red gates that do not block are on record as acknowledged when this returns, and were shown.
        """
        card = self.score()
        if LABEL in self.contract.metadata.labels:
            card = replace(card, stakes=drilled(card.stakes, self._records, self._limit))
        require_open(card, state="Nothing was read; production is as before.")
        self._go_on_with_red(card)

    def require_for_promotion(self) -> None:
        """The rollback gate must be green: rehearsed on this table, with evidence that is still valid."""
        card = self.score()
        require_open(card, state="Production is as before; staging is kept.", green=(rollback.NAME,))
        self._go_on_with_red(card)

    def acknowledge(self, reason: str) -> Scorecard:
        """Acknowledge by name every red gate that passes on it, on record. Returns the card as it stands then.

        Raises GateClosedError where a red gate needs more than that.
        """
        self._require_operator("acknowledge the red gates")
        card = self.score()
        if card.to_acknowledge:
            self._record(card, reason, automatic=False)
            card = replace(card, acknowledgements=self._acknowledgements)
        require_open(card, state=NOTHING_CHANGED)
        return card

    def _go_on_with_red(self, card: Scorecard) -> None:
        """Record what the context acknowledges by itself, once for each run and gate, and show all that is red."""
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

    def _rehearse(self, now: datetime) -> Evidence:
        """With what is staged, or before there is anything with nothing."""
        target = IcebergTarget(self.project_context.catalog.open(), self.plan.target.table)
        branches = [] if self.run is None else target.branches(self.run)
        staged = target.head(max(branches, key=epoch_of)) if branches else None
        return self._measures.rehearse_rollback(now, staged)

    def override(self, gate: str, reason: str) -> GateOverride:
        """Answer for a gate by name, whatever its colour. It stays on record and is shown with the run ever after."""
        if gate not in GATES:
            raise GateUnknownError(
                f"There is no gate {gate!r}.",
                state=NOTHING_CHANGED,
                hint=f"one of {', '.join(GATES)}",
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
        """Put the card itself on record, for who reads the run's record where nothing can be looked at."""
        ends = [each.good_until for each in card.judgements if each.good_until is not None]
        until, subject = min(ends, default=card.at), f"plan/{card.plan}"
        writer = self.store.writer
        keep_evidence(writer, CARD, subject, card.document(), by=self.person, good_until=until, run_id=self.run)

    def _require_operator(self, act: str) -> None:
        roles = self.project_context.loaded.settings.roles
        if self.run is None:
            require_named_operator(roles, self.person, act)
        else:
            require_operator(roles, self.person, self.store.reader.run(self.run), f"{act} of")

    @property
    def _overrides(self) -> dict[str, GateOverride]:
        return dict(overrides_of(self.store.reader, run_id=self.run, contract=self.plan.contract))

    @property
    def _acknowledgements(self) -> dict[str, Acknowledgement]:
        return dict(acknowledgements_of(self.store.reader, run_id=self.run, contract=self.plan.contract))

    @property
    def _records(self) -> int:
        """The most that the replay reads; a control reads everything again."""
        return variants_of(self.plan) * offsets_in(self.plan.source.ranges)

    @property
    def _limit(self) -> HighVolume:
        return self.project_context.loaded.settings.gates.high_volume

    def _stakes(self, facts: GateFacts) -> Stakes:
        """By the plan's offsets, and by the bytes that the storage path was measured to hold."""
        loaded, evidence = self.project_context.loaded, facts.evidence.get(storage_path.KIND)
        lanes, size = variants_of(self.plan), None if evidence is None else StoragePath.read(evidence.found).bytes
        return stakes_of(
            enforced=loaded.settings.enforces_gates,
            context=loaded.context,
            business_critical=self.pipeline.spec.business_critical,
            records=self._records,
            bytes_=None if size is None else lanes * size,
            limit=self._limit,
        )

    def _require_kafka(self) -> None:
        """KafkaUnreachableError at once: each question of the gates would wait for its own time, and judge by it."""
        require_answer(self.project_context.kafka.client(CLIENT_ID))

    def _facts(self) -> GateFacts:
        self._require_kafka()
        table = IcebergTarget(self.project_context.catalog.open(), self.plan.target.table).load()
        settings = self.project_context.loaded.settings
        drifts: tuple[Drift, ...] = ()
        if self.run is not None:
            state = self.store.reader.run(self.run).state
            drifts = look_for_drift(self.project_context, self.pipeline, self.plan, state)
        return GateFacts(
            now=self.clock(),
            plan=self.plan,
            contract=self.contract,
            pipeline=self.pipeline,
            drifts=drifts,
            live=look_at_live(self.project_context, self.pipeline),
            closing=look_at_closing(self.project_context.state / "runs", self.store),
            residency=table.properties.get(RESIDENCY),
            approvers=tuple(settings.roles.approvers) if settings.needs_approval else None,
            metrics=look_at_metrics(settings.metrics),
            reaches=look_at_code(self.project_context.folder, self.pipeline),
            evidence=self._measures.known(),
            run=self.run,
        )
