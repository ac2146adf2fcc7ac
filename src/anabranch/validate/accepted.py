"""The verdict of validation on a run: now, or from the run's journal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from anabranch.errors import AnabranchError, ExitCode
from anabranch.gates.approval.approval import AcceptedStaging
from anabranch.plan.plan import Plan
from anabranch.runs.heads import Head
from anabranch.runs.journal import Outcome
from anabranch.runs.store import RunReader
from anabranch.validate.report import Report, Verdict
from anabranch.validate.result import Result


@dataclass(frozen=True)
class AcceptedRun:
    """A plan, and the staging head that validation accepted."""

    plan: Plan
    head: Head


@dataclass(frozen=True)
class RejectedRun:
    """A plan, and the staging head that validation rejected."""

    plan: Plan
    head: Head
    failed: tuple[Result, ...]
    """The failed checks."""


@dataclass(frozen=True)
class ValidationResult:
    """What validation returns. Promotion takes an AcceptedRun alone."""

    judged: AcceptedRun | RejectedRun
    report: Report

    @classmethod
    def of(cls, plan: Plan, report: Report) -> ValidationResult:
        if report.failed:
            return cls(RejectedRun(plan, report.staging, report.failed), report)
        return cls(AcceptedRun(plan, report.staging), report)

    @property
    def accepted(self) -> bool:
        return isinstance(self.judged, AcceptedRun)


class ValidationRejectedError(AnabranchError):
    code = "validate.rejected"
    exit_code = ExitCode.REFUSED


def require_accepted(run: str, validation: ValidationResult) -> AcceptedRun:
    """The accepted run. Raises ValidationRejectedError, naming the failed checks, if it was rejected."""
    match validation.judged:
        case AcceptedRun():
            return validation.judged
        case RejectedRun(plan, head, failed):
            checks = "; ".join(f"{each.check}: expected {each.expected}, found {each.found}" for each in failed)
            raise ValidationRejectedError(
                f"Validation rejected staging snapshot {head} of run {run} after it caught up with live. {checks}.",
                state=f"Table {plan.target.table} unchanged by run {run}. Staging is kept; the run is rejected.",
                command=f"anabranch describe {run}",
                run=run,
                staging=head,
                failed=[each.check for each in failed],
            )


def verdicts(reader: RunReader, run_id: str) -> list[Mapping[str, object]]:
    """Oldest first: the staging snapshot that was judged, the verdict, and the digest of its rows."""
    done = [e for e in reader.journal(run_id) if e.step == "validate" and e.outcome is Outcome.SUCCEEDED]
    return [entry.outcome_details or {} for entry in done]


def last_accepted(reader: RunReader, run_id: str) -> AcceptedStaging | None:
    """The subject of the last validation, if it accepted."""
    last = (verdicts(reader, run_id) or [{}])[-1]
    snapshot = last.get("staging")
    if last.get("verdict") != Verdict.ACCEPTED.value or not isinstance(snapshot, str):
        return None
    return AcceptedStaging(Head(snapshot), str(last["digest"]))


def ever_accepted(reader: RunReader, run_id: str) -> bool:
    """Whether validation ever accepted, so that staging has the whole plan."""
    return any(verdict["verdict"] == Verdict.ACCEPTED.value for verdict in verdicts(reader, run_id))


class NotValidatedError(AnabranchError):
    code = "promote.not-validated"
    exit_code = ExitCode.CONFLICT


def accepted_run(reader: RunReader, run_id: str, plan: Plan) -> AcceptedRun:
    """The staging snapshot that the last validation accepted, which promotion compares with staging as it is.

    Raises NotValidatedError where there was no validation, or the last one rejected.
    """
    judged = last_accepted(reader, run_id)
    if judged is None:
        last = (verdicts(reader, run_id) or [{}])[-1]
        state = reader.run(run_id).state.value
        found = f"the last one rejected snapshot {last['staging']}" if last else "staging was never validated"
        raise NotValidatedError(
            f"Run {run_id} has no accepted validation: {found}.",
            state=f"The run is {state}; {plan.target.table} is unchanged by this command.",
            command=f"anabranch {'describe' if last else 'retry'} {run_id}",
            run=run_id,
            run_state=state,
        )
    return AcceptedRun(plan, judged.staging)
