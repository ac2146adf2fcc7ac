"""The command `promote` on every target: rounds of catching up with live, and what ends them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timezone

import pytest
from tests.conformance.target.scene import RUN, Scene

from anabranch.errors import AnabranchError
from anabranch.gates.scorecard import GateClosedError
from anabranch.plan.slices import Slice
from anabranch.promote.promotion import ApprovalNotRequired, ApprovedRun, StagingBehindLiveError
from anabranch.promote.run import CATCH_UP_ROUNDS, LIVE_PAUSE_SECONDS, PromotionRun
from anabranch.replay.ledger import Account
from anabranch.replay.slice_ledger import SliceLedger
from anabranch.replay.staged import StagedRun, staged_run
from anabranch.replay.staging import Staging, take_staging
from anabranch.runs.heads import Head
from anabranch.runs.journal import Outcome
from anabranch.runs.run_lease import RunLease
from anabranch.runs.states import Event, State
from anabranch.validate.accepted import ValidationRejectedError, ValidationResult, accepted_run
from anabranch.validate.measures import Checksum, Differences
from anabranch.validate.report import Report
from anabranch.validate.result import CheckOutcome, Result

EPOCH_SECONDS = 1_750_000_000.0


class DriftedError(AnabranchError):
    code = "test.drift"


def nothing() -> None:
    pass


@dataclass
class Promoter:
    """Everything that a promotion calls, on the scene's real table and run store; validation accepts unless told."""

    scene: Scene
    during_catch_up: Callable[[int], None] = lambda _round: None
    """Called before each catch-up with its number."""
    verdict: CheckOutcome = CheckOutcome.PASSED
    drift: Callable[[], None] = nothing
    gates_closed: bool = False
    rehearsal_due: bool = False
    caught_up: list[tuple[Slice, ...]] = field(default_factory=list)
    pauses: list[int] = field(default_factory=list)
    rehearsals: int = 0
    approvals: int = 0

    def require_for_promotion(self) -> None:
        if self.gates_closed:
            raise GateClosedError("Gate rollback blocks the run.", state="Production unchanged.", hint="rehearse it")

    def rollback_rehearsal_due(self) -> bool:
        return self.rehearsal_due

    def rehearse_rollback(self, say: Callable[[str], object]) -> bool:
        self.rehearsals += 1
        self.rehearsal_due = False
        return True

    def promote(self, lease: RunLease) -> Head:
        target = self.scene.kind.target()
        request = target.request_live_pause

        def noted(run: str, until: int) -> None:
            self.pauses.append(until)
            request(run, until)

        target.request_live_pause = noted  # type: ignore[method-assign]

        def approve(staging: Staging) -> ApprovedRun:
            self.approvals += 1
            accepted = accepted_run(lease.reader, RUN, self.scene.kind.plan)
            return ApprovedRun(accepted, ApprovalNotRequired("tests"))

        return PromotionRun(
            lease,
            self.scene.kind.plan,
            target,
            lambda: self,
            require_no_drift=self.drift,
            require_within_limits=nothing,
            approve=approve,
            catch_up=lambda slices: self.replay(lease, slices),
            validate=lambda staged: self.validate(lease, staged),
            clock=lambda: EPOCH_SECONDS,
        )()

    def replay(self, lease: RunLease, slices: Sequence[Slice]) -> StagedRun:
        self.during_catch_up(len(self.caught_up))
        self.caught_up.append(tuple(slices))
        if lease.run.state is State.VALIDATED:
            lease.transition(Event.CATCH_UP)
        staging = take_staging(lease, self.scene.kind.plan, self.scene.kind.target())
        for each in slices:
            self.scene.kind.stage_slice(staging, each, SliceLedger(0, {0: Account(each.width, filtered=each.width)}))
        if lease.run.state is State.REPLAYING:
            lease.transition(Event.STAGE)
        return staged_run(lease, self.scene.kind.plan, self.scene.kind.target())

    def validate(self, lease: RunLease, staged: StagedRun) -> ValidationResult:
        return validation(lease, staged, self.verdict)


def validation(lease: RunLease, staged: StagedRun, outcome: CheckOutcome) -> ValidationResult:
    """A verdict on record, as `ValidationRun` leaves it."""
    plan, head = staged.plan, staged.staging.head
    report = Report(
        RUN,
        plan.pipeline,
        plan.target.table,
        plan.hash,
        plan.target.partitions,
        plan.target.base,
        head,
        datetime(2025, 7, 1, tzinfo=timezone.utc),
        (Result("rows expected", outcome, "12 rows", "11 rows"),),
        (),
        Checksum(0, 0, 0),
        Account(),
        {},
        Differences(paired=False),
        0,
    )
    intent = f"{RUN}-validate-{lease.number('validate')}"
    entry = lease.record_intent("validate", {"staging": head}, intent=intent)
    details = {"staging": head, "verdict": report.verdict.value, "digest": "d"}
    lease.record_outcome(entry, Outcome.SUCCEEDED, details)
    lease.transition(Event.REJECT if outcome is CheckOutcome.FAILED else Event.ACCEPT, details)
    return ValidationResult.of(plan, report)


@contextmanager
def ready(scene: Scene) -> Iterator[RunLease]:
    """The scene's run with an accepted validation of its staging on record."""
    with scene.lease() as lease:
        validation(lease, staged_run(lease, scene.kind.plan, scene.kind.target()), CheckOutcome.PASSED)
        yield lease


def test_a_run_that_is_not_behind_is_promoted_without_a_replay(scene: Scene) -> None:
    promoter = Promoter(scene)
    with ready(scene) as lease:
        head = promoter.promote(lease)
        assert scene.kind.target().find_commit(f"{RUN}-promote-1") == head
    assert (scene.kind.rows(), scene.state) == (scene.kind.corrected, State.PROMOTED)
    assert (promoter.caught_up, promoter.pauses, promoter.rehearsals) == ([], [], 1)


def test_a_second_call_returns_the_same_commit_and_asks_for_nothing(scene: Scene) -> None:
    with ready(scene) as lease:
        head = Promoter(scene).promote(lease)
        again = Promoter(scene, gates_closed=True, rehearsal_due=True)
        assert again.promote(lease) == head
    assert (again.approvals, again.rehearsals) == (0, 0)


def test_commits_of_other_code_are_replayed_and_validated_before_the_promotion(scene: Scene) -> None:
    first, second = scene.kind.live(code="other"), scene.kind.live(code="other")
    promoter = Promoter(scene)
    with ready(scene) as lease:
        promoter.promote(lease)
        validations = [e for e in lease.reader.journal(RUN) if e.step == "validate"]
        [catch_up] = [e for e in lease.reader.journal(RUN) if e.step == "catch-up"]
    assert scene.kind.rows() == scene.kind.corrected + first + second
    [slices] = promoter.caught_up
    assert (catch_up.outcome_details or {})["slices"] == len(slices)
    ends = {each.offsets[0][1] for each in slices}
    assert max(ends) == max(int(str(number)) for number, *_ in (*first, *second)) + 1
    assert len(validations) == 2
    assert promoter.pauses == [], "the first round may take long, so live is not paused for it"


def test_live_that_commits_in_a_round_leads_to_another_for_which_live_is_asked_to_pause(scene: Scene) -> None:
    rows = scene.kind.live(code="other")

    def commit(round_: int) -> None:
        if round_ == 0:
            rows.update(scene.kind.live(code="other"))

    promoter = Promoter(scene, during_catch_up=commit)
    with ready(scene) as lease:
        promoter.promote(lease)
    assert scene.kind.rows() == scene.kind.corrected + rows
    assert len(promoter.caught_up) == 2
    assert promoter.pauses == [EPOCH_SECONDS + LIVE_PAUSE_SECONDS]
    assert scene.kind.pause_requested() == 0, "the request is withdrawn"


def test_live_that_commits_in_every_round_ends_the_promotion_with_production_unchanged(scene: Scene) -> None:
    rows = scene.kind.live(code="other")
    promoter = Promoter(scene, during_catch_up=lambda _: rows.update(scene.kind.live(code="other")))
    with ready(scene) as lease, pytest.raises(StagingBehindLiveError):
        promoter.promote(lease)
    assert len(promoter.caught_up) == CATCH_UP_ROUNDS
    assert (scene.kind.rows(), scene.state) == (scene.kind.former + rows, State.VALIDATED)
    assert scene.kind.pause_requested() == 0


def test_a_catch_up_that_validation_rejects_is_not_promoted(scene: Scene) -> None:
    live = scene.kind.live(code="other")
    with ready(scene) as lease, pytest.raises(ValidationRejectedError, match="expected 12 rows, found 11 rows"):
        Promoter(scene, verdict=CheckOutcome.FAILED).promote(lease)
    assert (scene.kind.rows(), scene.state) == (scene.kind.former + live, State.REJECTED)


def test_a_catch_up_whose_process_died_is_completed_and_validated(scene: Scene) -> None:
    live = scene.kind.live(code="other")

    class DiedError(RuntimeError):
        pass

    def die(_round: int) -> None:
        raise DiedError

    with ready(scene) as lease:
        with pytest.raises(DiedError):
            Promoter(scene, during_catch_up=die).promote(lease)
        lease.transition(Event.CATCH_UP)
        lease.transition(Event.STAGE)
        promoter = Promoter(scene)
        promoter.promote(lease)
    assert promoter.caught_up[0] == (), "what is staged is validated first"
    assert scene.kind.rows() == scene.kind.corrected + live


def test_drift_and_closed_gates_change_nothing(scene: Scene) -> None:
    def drift() -> None:
        raise DriftedError("The transform has changed.", state="Production unchanged.", hint="plan again")

    refused = {"test.drift": Promoter(scene, drift=drift), "gates.closed": Promoter(scene, gates_closed=True)}
    with ready(scene) as lease:
        for code, promoter in refused.items():
            with pytest.raises(AnabranchError) as error:
                promoter.promote(lease)
            assert (error.value.code, promoter.approvals) == (code, 0)
    assert (scene.kind.rows(), scene.state) == (scene.kind.former, State.VALIDATED)


def test_the_rollback_is_rehearsed_where_that_is_due_or_not_on_record(scene: Scene) -> None:
    rehearsed = Promoter(scene, gates_closed=True)
    with ready(scene) as lease:
        for expected in (1, 1):
            with pytest.raises(GateClosedError):
                rehearsed.promote(lease)
            assert rehearsed.rehearsals == expected, "on record since the first call"
        rehearsed.rehearsal_due = True
        with pytest.raises(GateClosedError):
            rehearsed.promote(lease)
        assert rehearsed.rehearsals == 2, "its evidence has expired"
