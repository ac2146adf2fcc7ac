"""Which code a control replays, and whether its rows can be compared with production's at all. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from anabranch.contract.backfill import LIVE_CODE
from anabranch.contract.pipeline import Pipeline
from anabranch.contract.reading import reading_digest
from anabranch.plan.offsets.intervals import union, without
from anabranch.plan.plan import Plan
from anabranch.plan.refusals import PlanRefusedError
from anabranch.plan.slices import Offsets


class ControlUnknownError(PlanRefusedError):
    """Nobody can say by which one version of the code production was made."""

    code = "plan.control-unknown"


class ControlIncomparableError(PlanRefusedError):
    code = "plan.control-incomparable"


@dataclass(frozen=True)
class LiveCodeUse:
    """One commit of live: which offsets, by which code, and whether it put anything into the range."""

    offsets: Offsets
    code: str | None
    in_range: bool


@dataclass(frozen=True)
class CodeVersions:
    """Who has made the range what it is at the base."""

    live: tuple[LiveCodeUse, ...]
    promoted: tuple[str, ...]
    """Runs that were promoted into it, and not taken back."""


def control_code(asked: str, plan: Plan, look: Callable[[], CodeVersions]) -> str:
    """The digest (or how it begins) of the code to replay: what the contract names, or what live's commits say."""
    if asked != LIVE_CODE:
        return asked
    found = look()
    if found.promoted:
        raise _unknown(f"Run {found.promoted[0]} was promoted into the range, which is no longer what live's code made")
    covered = {
        number: union(each.offsets[number] for each in found.live if number in each.offsets)
        for number in plan.source.ranges
    }
    missing = {p: gone for p, ranges in plan.source.ranges.items() if (gone := without(ranges, covered[p]))}
    if missing:
        partition, (first, *_) = min(missing.items())
        raise _unknown(
            f"No commit that the table still has says by which code live wrote partition {partition}, offset {first[0]}"
        )
    codes = tuple(dict.fromkeys(each.code for each in found.live if each.in_range))
    if None in codes or not codes:
        raise _unknown("Live's commits don't say by which code they were made")
    if len(codes) > 1:
        known = ", ".join(str(code)[:12] for code in codes)
        raise _unknown(f"Live wrote the range by {len(codes)} versions of the code ({known})")
    return str(codes[0])


def _unknown(what: str) -> ControlUnknownError:
    return ControlUnknownError(
        f"{what}, and a control replays one version.",
        hint="name the version to compare with in the contract: control: {code: DIGEST}; "
        "or ask for a narrower range; or plan without a control",
    )


def require_comparable(
    kept: Pipeline, now: Pipeline, late_imports: Sequence[str], *, everything: bool, as_stream: bool = False
) -> None:
    """Refuse a control whose rows would differ from production's for another reason than its code."""
    reason = next(_reasons(kept, now, late_imports, everything=everything), None)
    if reason is None and as_stream:
        # It would need a stream of its own, from a checkpoint that its code has made: that is production once more.
        reason = "a stream-faithful replay has one stream; with strategy: batch-exact it can"
    if reason is not None:
        raise ControlIncomparableError(
            f"The control's code can't be replayed over the same offsets: {reason}.",
            hint="plan without a control",
        )


def _reasons(kept: Pipeline, now: Pipeline, late_imports: Sequence[str], *, everything: bool) -> Iterator[str]:
    old, new = kept.spec, now.spec
    if (old.source.topic, old.target.table) != (new.source.topic, new.target.table):
        yield f"it read {old.source.topic} into {old.target.table}"
    if (old.pipeline_class, old.target.keys, old.source.key) != (new.pipeline_class, new.target.keys, new.source.key):
        yield "its pipeline was of another class, or had other keys"
    if old.window != new.window:
        yield "its window was another one, made of other events"
    if reading_digest(old) != reading_digest(new) and not everything:
        yield "it read another event time, so that other offsets hold the range's events"
    if not (old.lookups or {}).items() <= (new.lookups or {}).items():
        yield "it looks things up in other tables"
    if late_imports:
        # Workers know one version of a module by its name, and that is the corrected one's.
        yield f"{late_imports[0]} imports a module of its own inside a function; write imports at the top of the file"
