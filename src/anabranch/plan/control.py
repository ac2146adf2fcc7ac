"""Which code the control replays, and whether its rows are comparable with production's."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from anabranch.contract.backfill import LIVE_CODE
from anabranch.contract.code import reading_digest
from anabranch.contract.code_store import CodeStore, StoredCode
from anabranch.contract.late_imports import find_late_imports
from anabranch.contract.pipeline import Pipeline
from anabranch.plan.offsets.intervals import union, without
from anabranch.plan.plan import Plan
from anabranch.plan.refusals import PlanRefusedError
from anabranch.plan.request import BackfillRequest
from anabranch.plan.slices import Offsets


class ControlUnknownError(PlanRefusedError):
    """No single code version is known to have written the range."""

    code = "plan.control-unknown"


class ControlIncomparableError(PlanRefusedError):
    code = "plan.control-incomparable"


@dataclass(frozen=True)
class LiveCodeUse:
    """One live commit: its offsets, its code, and whether it wrote to the range."""

    offsets: Offsets
    code: str | None
    in_range: bool


@dataclass(frozen=True)
class CodeVersions:
    """Who wrote the range, up to the base snapshot."""

    live: tuple[LiveCodeUse, ...]
    promoted: tuple[str, ...]
    """Runs that were promoted into it and not rolled back."""


def control_code(wanted: str, plan: Plan, read_versions: Callable[[], CodeVersions]) -> str:
    """The digest (or a prefix of it) of the code to replay: from the contract, or from live's commits."""
    if wanted != LIVE_CODE:
        return wanted
    versions = read_versions()
    if versions.promoted:
        raise _unknown(
            f"Run {versions.promoted[0]} was promoted into the range, so live's code did not write all of it"
        )
    covered = {
        number: union(each.offsets[number] for each in versions.live if number in each.offsets)
        for number in plan.source.ranges
    }
    missing = {p: gone for p, ranges in plan.source.ranges.items() if (gone := without(ranges, covered[p]))}
    if missing:
        partition, (first, *_) = min(missing.items())
        raise _unknown(
            f"The code by which live wrote partition {partition}, offset {first[0]} is unknown: no retained snapshot "
            "records it"
        )
    codes = tuple(dict.fromkeys(each.code for each in versions.live if each.in_range))
    if None in codes or not codes:
        raise _unknown("Live's commits do not record their code version")
    if len(codes) > 1:
        known = ", ".join(str(code)[:12] for code in codes)
        raise _unknown(f"Live wrote the range with {len(codes)} code versions ({known})")
    return str(codes[0])


def pin_control(
    request: BackfillRequest, plan: Plan, codes: CodeStore, read_versions: Callable[[], CodeVersions]
) -> str | None:
    """The digest of the control's code; None: no control was requested. Raises if its rows can't be compared."""
    wanted = request.backfill.spec.control
    if wanted is None:
        return None
    stored = codes.load(control_code(wanted.code, plan, read_versions))
    late = find_late_imports(stored.folder, stored.pipeline)
    as_stream = plan.stream is not None
    require_comparable(stored.pipeline, request.pipeline, late, everything=request.everything, as_stream=as_stream)
    return stored.digest


def pinned_control(plan: Plan, codes: CodeStore) -> StoredCode:
    """The code that the plan replays as its control. ValueError for a plan without one."""
    if plan.control is None:
        raise ValueError(f"plan {plan.hash} has no control")
    return codes.load(plan.control)


def _unknown(what: str) -> ControlUnknownError:
    return ControlUnknownError(
        f"{what}. A control replays exactly one version.",
        hint="write control: {code: DIGEST} in the contract, or a narrower range, or plan without a control",
    )


def require_comparable(
    former: Pipeline, now: Pipeline, late_imports: Sequence[str], *, everything: bool, as_stream: bool = False
) -> None:
    """Raise if the control's rows would differ from production's for another reason than its code."""
    reason = next(_reasons(former, now, late_imports, everything=everything), None)
    if reason is None and as_stream:
        # It would need its own stream, from a checkpoint that its own code has made.
        reason = "a stream-faithful replay has only one stream (strategy: batch-exact supports a control)"
    if reason is not None:
        raise ControlIncomparableError(
            f"The control's code can't be replayed over the same offsets: {reason}.",
            hint="plan without a control",
        )


def _reasons(former: Pipeline, now: Pipeline, late_imports: Sequence[str], *, everything: bool) -> Iterator[str]:
    old, new = former.spec, now.spec
    if (old.source.topic, old.target.table) != (new.source.topic, new.target.table):
        yield f"its pipeline read {old.source.topic} into {old.target.table}"
    if (old.pipeline_class, old.target.keys, old.source.key) != (new.pipeline_class, new.target.keys, new.source.key):
        yield "its pipeline had another class or other keys"
    if old.window != new.window:
        yield "its pipeline had another window"
    if reading_digest(old) != reading_digest(new) and not everything:
        yield "its pipeline decoded event time differently, so other offsets hold the range's events"
    if not (old.lookups or {}).items() <= (new.lookups or {}).items():
        yield "it uses other lookup tables than the pipeline declares now"
    if late_imports:
        # A worker has one module per name, and that is the corrected version's.
        yield f"{late_imports[0]} imports a project module inside a function, and workers would load the corrected one"
