"""A plan in words and rows, for people."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from anabranch.close.horizon import horizon_length
from anabranch.plan.forecast.estimates import Estimates
from anabranch.plan.offsets.completeness import Proof
from anabranch.plan.offsets.intervals import Intervals
from anabranch.plan.offsets.ranges import EndsBy
from anabranch.plan.plan import Plan
from anabranch.plan.planner import Planned
from anabranch.plan.steps import describe, steps_of
from anabranch.plan.strategies.stream_start import StreamStart
from anabranch.plan.target_range import WholeTable
from anabranch.project.quantities import format_duration, format_moment

RANGES_SHOWN = 4

_ENDS = {
    EndsBy.TIME: "time: what follows is later than the range",
    EndsBy.LIVE: "live: what follows is live's to write",
    EndsBy.LOG: "the end of the partition",
    EndsBy.DOUBT: "the end of the partition, as timestamps are out of order",
    EndsBy.MAP: "zone map: no event of the range follows",
    EndsBy.CLOSED: "live: every window of the range had closed",
}


def replaced(planned: Planned) -> Iterator[str]:
    """What of the table is replaced, what was asked for, and why the two differ."""
    target, part = planned.plan.target, planned.plan.target.partitions
    if isinstance(part, WholeTable):
        yield from _state_words(planned.plan, part)
        return
    if target.requested_start is None or target.requested_end is None:
        yield f"{target.table} is replaced as a whole: {target.rows:,} rows in {target.files:,} files are taken out"
        return
    request = (target.requested_start, target.requested_end)
    whole = (part.start, part.end)
    yield (
        f"{target.table} is replaced from {format_moment(whole[0])} to {format_moment(whole[1])}: "
        f"{target.rows:,} rows in {target.files:,} files are taken out"
    )
    if request != whole:
        yield (
            f"asked for were {format_moment(request[0])} to {format_moment(request[1])}; "
            f"a file holds one {part.axis.grain.value} of {part.axis.column}, and only whole files are replaced"
        )


def _state_words(plan: Plan, part: WholeTable) -> Iterator[str]:
    """What a replay of the whole table starts from, and what it then holds."""
    start = plan.state.snapshot if plan.state is not None else None
    since = "all events" if part.since is None else f"events since {format_moment(part.since)}"
    yield f"{plan.target.table} is replaced as a whole: {plan.target.rows:,} rows in {plan.target.files:,} files"
    if start is None:
        yield f"{since} are wrong in it; the replay starts from an empty table at the beginning of the topic"
    else:
        yield f"{since} are wrong in it; the replay starts from its state at snapshot {start}, the last before them"


def offsets_of(planned: Planned) -> Iterator[tuple[str, ...]]:
    source = planned.plan.source
    for partition, ranges in sorted(source.ranges.items()):
        live = source.live.get(partition)
        for start, end in _shown(ranges):
            yield (
                str(partition),
                f"{start:,}",
                f"{end:,}",
                f"{end - start:,}",
                "unknown" if live is None else f"{live:,}",
                _ENDS[planned.outlook.ends[partition]] if end == ranges[-1][1] else "",
            )
        if len(ranges) > RANGES_SHOWN:
            yield (str(partition), f"… {len(ranges) - RANGES_SHOWN:,} more ranges", "", "", "", "")


def _shown(ranges: Intervals) -> Intervals:
    """The first ones and the last; all of them are in `-o json`."""
    return ranges if len(ranges) <= RANGES_SHOWN else (*ranges[: RANGES_SHOWN - 1], ranges[-1])


def completeness_of(planned: Planned) -> str:
    """Why no event of the range is left out, and what would make it surer."""
    pipeline, proofs = planned.plan.pipeline, planned.plan.source.proof
    slack = _duration(planned.request.slack)
    build = f"`anabranch zones build {pipeline}` would prove it"
    kinds = set(proofs.values())
    if kinds <= {Proof.WHOLE}:
        return "proven: nothing is left out"
    if kinds <= {Proof.MAP, Proof.WHOLE}:
        return "proven by the zone map, however late an event is"
    if kinds <= {Proof.SLACK, Proof.WHOLE}:
        return f"declared: by timestamps and a slack of {slack}; there is no zone map of it, and {build}"
    open_ones = ", ".join(str(p) for p, proof in sorted(proofs.items()) if proof in (Proof.SLACK, Proof.BOTH))
    return (
        f"proven by the zone map for {planned.outlook.map.covered:.1%} of the offsets; for the rest (partition "
        f"{open_ones}) declared, by timestamps and a slack of {slack}; {build}"
    )


def facts_of(planned: Planned) -> Iterator[tuple[str, str]]:
    plan, outlook = planned.plan, planned.outlook
    yield "topic", f"{plan.source.topic} (id {plan.source.uuid}), partitions: {plan.source.partitions}"
    yield "complete", completeness_of(planned)
    amplification = outlook.map.amplification
    yield (
        "amplification",
        "unknown: the zone map knows of no event in the range"
        if amplification is None
        else f"{amplification:.2f} records read for one in the range, by the zone map",
    )
    yield "records", f"at most {outlook.offsets:,}, in slices: {len(plan.slices):,}"
    part = plan.target.partitions
    if plan.reading is not None and not isinstance(part, WholeTable):
        start, end = format_moment(plan.reading.start), format_moment(plan.reading.end)
        before, after = part.start - plan.reading.start, plan.reading.end - part.end
        yield "windows", f"events from {start} to {end}: {_spare(before)} before the range, {_spare(after)} after it"
    if plan.stream is not None:
        yield "stream", _stream(plan.stream)
    yield "bytes", "unknown" if outlook.bytes is None else f"about {outlook.bytes:,} on disk"
    if outlook.duration is not None:
        yield "duration", f"{_duration(outlook.duration)} to read at the contract's rate"
    yield "compacted", {True: "yes", False: "no", None: "unknown"}[plan.source.compacted]
    yield "transactions", "seen" if outlook.transactional else "unknown: none seen in a sample"
    yield "timestamps", "unknown" if outlook.settings is None else outlook.settings.timestamps
    yield "retention", _retention(outlook)
    yield "base", f"snapshot {plan.target.base}"
    yield "schema", plan.target.schema[:12]
    yield "code", plan.code[:12]
    if plan.control is not None:
        yield "control", f"{plan.control[:12]}, replayed beside it over the same offsets; never promoted"
    for name, pin in sorted(plan.lookups.items()):
        yield f"lookup {name}", f"{pin.table} at snapshot {pin.snapshot}"
    rollback, length = planned.request.contract["spec"]["rollback"], horizon_length(planned.request.contract)
    kept = "; keep main's snapshots as long, live's commits are replayed by them" if plan.strategy.whole_table else ""
    yield "rollback", f"by {rollback['authority']}; guaranteed for {_duration(length)} after a promotion{kept}"
    yield "contract", plan.contract[:12]


def steps_shown(planned: Planned, most: int) -> Iterator[str]:
    """Every step, numbered; the middle of a long list is left out here, and is in `-o json`."""
    lines = [f"{number}. {describe(step)}" for number, step in enumerate(steps_of(planned.plan), start=1)]
    if len(lines) <= most:
        yield from lines
        return
    tail = 4
    yield from lines[: most - tail]
    yield f"   … {len(lines) - most:,} more slices (all of them with -o json)"
    yield from lines[-tail:]


def _retention(outlook: Estimates) -> str:
    if outlook.settings is None:
        return "unknown"
    if outlook.settings.retention_ms is None:
        return "kept for ever"
    kept = _duration(timedelta(milliseconds=outlook.settings.retention_ms))
    if outlook.headroom is None:
        return f"{kept}"
    if outlook.headroom <= timedelta():
        return f"{kept}; the first record of the range may go any moment"
    return f"{kept}; the first record of the range goes in {_duration(outlook.headroom)}"


def _stream(start: StreamStart) -> str:
    if start.checkpoint is None:
        return "from live's first batch, with no state: no checkpoint is from before the range"
    digest = (start.digest or "")[:12]
    return f"from live's checkpoint {start.checkpoint}, taken after its batch {start.batch} (digest {digest})"


def _spare(duration: timedelta) -> str:
    return _duration(duration) if duration > timedelta() else "nothing"


def _duration(duration: timedelta) -> str:
    """To the second, and in days where there are many: nobody plans by the millisecond."""
    return format_duration(timedelta(seconds=max(1, round(duration.total_seconds()))))
