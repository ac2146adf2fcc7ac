"""A plan as lines and rows for a terminal."""

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
from anabranch.promote.capabilities import Capabilities, HeadCheck, Moves, RowRestore, StreamingReaders

RANGES_SHOWN = 4

_ENDS = {
    EndsBy.TIME: "time: later offsets are after the range",
    EndsBy.LIVE: "live: later offsets are live's",
    EndsBy.LOG: "the end of the partition",
    EndsBy.DOUBT: "the end of the partition: timestamps are out of order",
    EndsBy.MAP: "zone map: no later event of the range",
    EndsBy.CLOSED: "live: every window of the range is closed",
}


def replaced(planned: Planned) -> Iterator[str]:
    """The replaced range, the requested range, and why they differ."""
    target, part = planned.plan.target, planned.plan.target.partitions
    if isinstance(part, WholeTable):
        yield from _state_words(planned.plan, part)
        return
    if target.requested_start is None or target.requested_end is None:
        yield f"{target.table} is replaced as a whole: {target.rows:,} rows in {target.files:,} files"
        return
    request = (target.requested_start, target.requested_end)
    whole = (part.start, part.end)
    yield (
        f"{target.table} is replaced from {format_moment(whole[0])} to {format_moment(whole[1])}: "
        f"{target.rows:,} rows in {target.files:,} files"
    )
    if request != whole:
        yield (
            f"requested: {format_moment(request[0])} to {format_moment(request[1])}; "
            f"a file holds one {part.axis.grain.value} of {part.axis.column}, and only whole files are replaced"
        )


def _state_words(plan: Plan, part: WholeTable) -> Iterator[str]:
    """The start of a replay of the whole table, and the events that are wrong."""
    start = plan.start_snapshot
    since = "all events" if part.since is None else f"events since {format_moment(part.since)}"
    yield f"{plan.target.table} is replaced as a whole: {plan.target.rows:,} rows in {plan.target.files:,} files"
    if start is None:
        yield f"{since} are wrong; the replay starts from an empty table at the first offset"
    else:
        yield f"{since} are wrong; the replay starts from snapshot {start}, the last one before them"


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
                _ENDS[planned.estimates.ends[partition]] if end == ranges[-1][1] else "",
            )
        if len(ranges) > RANGES_SHOWN:
            yield (str(partition), f"… {len(ranges) - RANGES_SHOWN:,} more ranges", "", "", "", "")


def _shown(ranges: Intervals) -> Intervals:
    """The first ranges and the last; `-o json` has all of them."""
    return ranges if len(ranges) <= RANGES_SHOWN else (*ranges[: RANGES_SHOWN - 1], ranges[-1])


def completeness_of(planned: Planned) -> str:
    """Whether every event of the range is known to be read, and what would prove it."""
    pipeline, proofs = planned.plan.pipeline, planned.plan.source.proof
    slack = _duration(planned.request.slack)
    build = f"`anabranch zones build {pipeline}` would prove it"
    kinds = set(proofs.values())
    if kinds <= {Proof.WHOLE}:
        return "proven: the whole topic is read"
    if kinds <= {Proof.MAP, Proof.WHOLE}:
        return "proven by the zone map, however late an event is"
    if kinds <= {Proof.SLACK, Proof.WHOLE}:
        return f"declared: by timestamps and a slack of {slack}; no zone map; {build}"
    open_ones = ", ".join(str(p) for p, proof in sorted(proofs.items()) if proof in (Proof.SLACK, Proof.BOTH))
    return (
        f"proven by the zone map for {planned.estimates.map.covered:.1%} of the offsets; for the rest (partition "
        f"{open_ones}) declared, by timestamps and a slack of {slack}; {build}"
    )


def facts_of(planned: Planned) -> Iterator[tuple[str, str]]:
    plan, estimates = planned.plan, planned.estimates
    yield "topic", f"{plan.source.topic} (id {plan.source.uuid}), partitions: {plan.source.partitions}"
    yield "completeness", completeness_of(planned)
    amplification = estimates.map.amplification
    yield (
        "amplification",
        "unknown: the zone map has no event in the range"
        if amplification is None
        else f"{amplification:.2f} records read per record in the range, by the zone map",
    )
    yield "records", f"at most {estimates.offsets:,}, in slices: {len(plan.slices):,}"
    part = plan.target.partitions
    if plan.reading is not None and not isinstance(part, WholeTable):
        start, end = format_moment(plan.reading.start), format_moment(plan.reading.end)
        before, after = part.start - plan.reading.start, plan.reading.end - part.end
        yield "windows", f"events from {start} to {end}: {_spare(before)} before the range, {_spare(after)} after it"
    if plan.stream is not None:
        yield "stream", _stream(plan.stream)
    yield "bytes", "unknown" if estimates.bytes is None else f"about {estimates.bytes:,} on disk"
    if estimates.duration is not None:
        yield "duration", f"{_duration(estimates.duration)} to read at the contract's rate"
    yield "compacted", {True: "yes", False: "no", None: "unknown"}[plan.source.compacted]
    yield "transactions", "seen" if estimates.transactional else "unknown: none seen in a sample"
    yield "timestamps", "unknown" if estimates.settings is None else estimates.settings.timestamps
    yield "retention", _retention(estimates)
    yield "base", f"snapshot {plan.target.base}"
    yield "schema", plan.target.schema[:12]
    yield "code", plan.code[:12]
    if plan.control is not None:
        yield "control", f"{plan.control[:12]}, replayed over the same offsets; never promoted"
    for name, pin in sorted(plan.lookups.items()):
        yield f"lookup {name}", f"{pin.table} at snapshot {pin.snapshot}"
    governor = planned.request.contract["spec"].get("governor")
    if governor is not None:
        yield "governor", f"off, the replay does not yield to live: {governor['off']}"
    rollback, length = planned.request.contract["spec"]["rollback"], horizon_length(planned.request.contract)
    condition = (
        "; keep main's snapshots as long: live's commits are replayed from them" if plan.strategy.whole_table else ""
    )
    yield "rollback", f"by {rollback['authority']}; guaranteed for {_duration(length)} after a promotion{condition}"
    yield "contract", plan.contract[:12]


_HEAD_CHECK = {
    HeadCheck.EXACT: "a commit that comes first is detected; the promotion reads the table again before it retries",
    HeadCheck.WRITERS_LOCKED: "other writers wait from the last look to the commit",
    HeadCheck.WRITERS_FENCED: "the live writer is fenced off for it, and restarts",
    HeadCheck.NONE: "not checked against commits that come at the same time",
}
_MOVES = {
    Moves.FILES: "no data file is rewritten",
    Moves.TABLES: "a table is exchanged for another",
    Moves.ROWS: "rows are written one by one",
    Moves.OFFSETS: "consumers are moved to another topic",
}
_STREAMS = {
    StreamingReaders.STOP: "a streaming reader stops with an error unless it skips overwrites",
    StreamingReaders.READ_CHANGES: "a streaming reader reads the changes",
    StreamingReaders.MISS_CHANGES: "a streaming reader continues and misses the changes",
}
_LATER_ROWS = {
    RowRestore.COMPARED: "if live's files were compacted, its rows are found by comparison, on Spark",
    RowRestore.REPLAYED: "what live wrote since is replayed from the topic, on Spark",
}


def capability_words(target: Capabilities) -> Iterator[tuple[str, str]]:
    """What the target promises of the promotion and its rollback."""
    commit = "one atomic commit" if target.atomic else "several steps; readers may see part of it"
    yield "promotion", f"{commit}; {_MOVES[target.moves]}"
    yield "conflicts", _HEAD_CHECK[target.head_check]
    view = f"consistent within one {target.readers_see.value}: before or after, never a mix"
    yield "readers", f"{view}; {_STREAMS[target.streaming_readers]}"
    kept = (
        "the former rows are kept until the run is closed"
        if target.former_rows_kept
        else "expiry may remove the former rows"
    )
    yield "rollback by", f"one commit; {kept}; {_LATER_ROWS[target.later_rows]}"
    if target.pauses_live:
        yield "live", "may be asked to pause for up to a minute while it is promoted"


def steps_shown(planned: Planned, most: int) -> Iterator[str]:
    """The steps, numbered; `-o json` also has the middle of a long list."""
    lines = [f"{number}. {describe(step)}" for number, step in enumerate(steps_of(planned.plan), start=1)]
    if len(lines) <= most:
        yield from lines
        return
    tail = 4
    yield from lines[: most - tail]
    yield f"   … {len(lines) - most:,} more slices (all of them with -o json)"
    yield from lines[-tail:]


def _retention(estimates: Estimates) -> str:
    if estimates.settings is None:
        return "unknown"
    if estimates.settings.retention_ms is None:
        return "unlimited"
    retention = _duration(timedelta(milliseconds=estimates.settings.retention_ms))
    if estimates.headroom is None:
        return retention
    if estimates.headroom <= timedelta():
        return f"{retention}; the first record of the range may be deleted at any time"
    return f"{retention}; the first record of the range is deleted in {_duration(estimates.headroom)}"


def _stream(start: StreamStart) -> str:
    if start.checkpoint is None:
        return "from live's first batch without state: no checkpoint is from before the range"
    digest = (start.digest or "")[:12]
    return f"from live's checkpoint {start.checkpoint}, taken after its batch {start.batch} (digest {digest})"


def _spare(duration: timedelta) -> str:
    return _duration(duration) if duration > timedelta() else "nothing"


def _duration(duration: timedelta) -> str:
    """To the second, in days where there are many."""
    return format_duration(timedelta(seconds=max(1, round(duration.total_seconds()))))
