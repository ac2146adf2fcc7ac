"""The sections of a runbook, from the records of a run: for the team that owns the data and the team that runs it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from anabranch.close.horizon import horizon_length
from anabranch.gates.approval.approval import Approval
from anabranch.gates.approval.refusals import explain, next_approval
from anabranch.pages.runbook.commands import commands
from anabranch.pages.runbook.document import Block, Code, Paragraph, Runbook, Section, Text, facts, grid
from anabranch.pages.runbook.measured import cost, gates, schedule
from anabranch.pages.runbook.situation import Situation
from anabranch.plan.target_range import WholeTable
from anabranch.project.quantities import format_duration
from anabranch.runs.states import State

RANGES_SHOWN = 20
RECORDS_SHOWN = 40
_ROUTINE = frozenset({"lease.acquire", "lease.release"})
"""Recorded by every command, so they are left out. A takeover is shown."""

_PRODUCTION = {
    State.PROMOTING: "A promotion is in progress. If its process has ended, promote again: it finds the outcome.",
    State.PROMOTED: "Production has the replayed rows. The former rows are kept until the run is closed.",
    State.ROLLING_BACK: "A rollback is in progress. If its process has ended, roll back again: it finds the outcome.",
    State.ROLLED_BACK: "Production has its former rows again, and every later commit of live.",
    State.CLOSING: "Staging is being removed. Run close again to finish; production no longer changes.",
    State.CLOSED: "The run is closed and can't be rolled back. The result is in its closure record.",
}


def write_book(now: Situation) -> Runbook:
    state = now.run.state
    return Runbook(
        title=f"Runbook of run {now.run.id}",
        state=state.value.replace("_", " "),
        production=_PRODUCTION.get(state, "Production unchanged by this run."),
        settled=state not in (State.PROMOTING, State.ROLLING_BACK),
        sections=(
            Section("Overview", tuple(_who(now))),
            Section("Commands", commands(now)),
            Section("Contract", tuple(_contract(now))),
            Section("Offsets", tuple(_offsets(now))),
            Section("Staging and snapshots", tuple(_staging(now))),
            Section("Checks", tuple(_checks(now))),
            Section("Schedule", schedule(now)),
            Section("Cost", cost(now)),
            Section("Gates", gates(now)),
            Section("Approvals", tuple(_approvals(now))),
            Section("History", tuple(_history(now))),
        ),
        footer=f"Generated {now.at:%Y-%m-%d %H:%M:%S} UTC from the control database. All times are UTC.",
    )


def _who(now: Situation) -> Iterator[Block]:
    yield facts(
        [
            ("Pipeline", now.run.pipeline),
            ("Table", Code(now.run.target.table)),
            ("Context", Code(now.context)),
            ("Owner", str(now.spec["owner"])),
            ("Author", now.run.author),
            ("Rollback authority", now.authority),
            ("Reason", str(now.spec["reason"])),
            ("Fault", None if now.run.fault is None else f"{now.run.fault.text} [{now.run.fault.code}]"),
        ]
    )


def _contract(now: Situation) -> Iterator[Block]:
    checks = {name: value for name, value in (now.spec.get("validation") or {}).items() if value}
    yield facts(
        [
            ("Name", Code(str(now.contract["metadata"]["name"]))),
            ("Range", _plain(now.spec["range"])),
            ("Partitions", _plain(now.spec["partitions"]) if "partitions" in now.spec else None),
            ("Expected", _plain(now.spec["expect"]) if "expect" in now.spec else None),
            ("Validation", _plain(checks) if checks else None),
            ("Rollback guaranteed for", f"{format_duration(horizon_length(now.contract))} after a promotion"),
            ("Contract", Code(now.run.contract_hash)),
            ("Plan", Code(now.plan.hash)),
            ("Code", Code(now.plan.code)),
        ]
    )


def _offsets(now: Situation) -> Iterator[Block]:
    source = now.plan.source
    yield facts([("Topic", Code(source.topic)), ("Topic id", Code(source.uuid)), ("Isolation", source.isolation)])
    rows: list[tuple[Text, ...]] = []
    for partition, ranges in sorted(source.ranges.items()):
        live = source.live.get(partition)
        proof = source.proof.get(partition)
        for start, end in ranges:
            rows.append(
                (
                    str(partition),
                    f"{start:,}",
                    f"{end:,}",
                    f"{end - start:,}",
                    "unknown" if live is None else f"{live:,}",
                    "" if proof is None else proof.value,
                )
            )
    yield grid(("Partition", "From", "To (exclusive)", "Offsets", "Live offset", "Completeness"), rows[:RANGES_SHOWN])
    if len(rows) > RANGES_SHOWN:
        yield Paragraph(
            f"… and {len(rows) - RANGES_SHOWN:,} more ranges: {now.command(f'describe {now.run.id}')} -o json"
        )


def _staging(now: Situation) -> Iterator[Block]:
    part = now.plan.target.partitions
    replaced = "the whole table"
    if not isinstance(part, WholeTable):
        replaced = f"{part.start:%Y-%m-%d %H:%M} to {part.end:%Y-%m-%d %H:%M} of {part.axis.column}"
    verdicts = now.done("validate")
    yield facts(
        [
            ("Replaced in production", replaced),
            *_places(now, now.staging, created=bool(now.run.epoch)),
            ("Slices staged", f"{len(now.done('slice'))} of {len(now.plan.slices)} planned, catch-up included"),
            ("Base snapshot", Code(str(now.plan.target.base))),
            ("Validated snapshot", _code((verdicts[-1].outcome_details or {}).get("staging") if verdicts else None)),
            *_places(now, now.kept, created=bool(now.done("promote"))),
        ]
    )
    moved = [each for each in now.journal if each.step in ("promote", "rollback") and each.outcome is not None]
    if moved:
        rows = [
            (
                each.step,
                each.outcome.value if each.outcome else "",
                _code((each.outcome_details or {}).get("snapshot")) or "",
                f"{each.settled_at:%Y-%m-%d %H:%M:%S}" if each.settled_at else "",
            )
            for each in moved
        ]
        yield grid(("Commit on production", "Outcome", "Snapshot", "At"), rows)


def _places(now: Situation, names: Mapping[str, str], *, created: bool) -> Iterator[tuple[str, Text]]:
    for label, name in names.items():
        if now.run.state is State.CLOSED:
            yield label, "removed when the run was closed"
        else:
            yield label, Code(name) if created else "not created yet"


def _checks(now: Situation) -> Iterator[Block]:
    report, verdicts = now.validation, now.done("validate")
    if not verdicts:
        planned = "; ".join(now.plan.checks) or "the default checks"
        yield Paragraph(f"Not validated yet. Planned checks: {planned}.")
        return
    last = verdicts[-1].outcome_details or {}
    yield facts(
        [
            ("Verdict", str(last["verdict"])),
            ("Staging snapshot", _code(last["staging"])),
            ("Digest of the rows", _code(last["digest"])),
        ]
    )
    if report is None or report["staging"] != last["staging"]:
        yield Paragraph("The report is stored on the machine that ran the validation.")
        return
    results = report["results"]
    headings = ("Outcome", "Check", "Expected", "Found")
    yield grid(headings, ([str(each[name.lower()]) for name in headings] for each in results))


def _approvals(now: Situation) -> Iterator[Block]:
    standing = now.standing
    if standing.holds and standing.approval is not None:
        words = f"Approved by {standing.approval.by}, valid until {standing.approval.good_until:%Y-%m-%d %H:%M}."
    elif not now.needs_approval:
        words = "This context requires no approval."
    elif standing.approval is not None and standing.flaw is not None:
        words = f"No valid approval: {explain(standing.approval, standing.flaw)}."
    else:
        words = f"Not approved yet. Next: {next_approval(now.run)}."
    yield Paragraph(words)
    if now.approvals:
        headings = ("By", "At", "Valid until", "Plan", "Staging", "Reason", "Ended")
        yield grid(headings, (_approval(each) for each in now.approvals))


def _approval(each: Approval) -> tuple[Text, ...]:
    end = each.end
    ended = "" if end is None else f"{end.flaw.value} by {end.by}, {end.at:%Y-%m-%d %H:%M}"
    return (
        each.by,
        f"{each.at:%Y-%m-%d %H:%M}",
        f"{each.good_until:%Y-%m-%d %H:%M}",
        Code(each.plan[:12]),
        "before anything was staged" if each.judged is None else Code(str(each.judged.staging)),
        each.reason or "",
        f"{ended}: {end.reason}" if end is not None and end.reason else ended,
    )


def _history(now: Situation) -> Iterator[Block]:
    shown = [each for each in now.records if each.action not in _ROUTINE]
    if len(shown) > RECORDS_SHOWN:
        yield Paragraph(f"The last {RECORDS_SHOWN} of {len(shown):,} records: {now.command(f'log {now.run.id}')}")
    rows = [
        (
            each.at[:19].replace("T", " "),
            each.actor,
            each.action,
            f"{each.from_state} → {each.to_state}" if each.from_state else (each.to_state or ""),
            "" if each.details == "{}" else _short(json.loads(each.details)),
        )
        for each in shown[-RECORDS_SHOWN:]
    ]
    yield grid(("At", "Actor", "Action", "State", "Details"), rows)


def _code(value: object) -> Code | None:
    return None if value is None else Code(str(value))


def _plain(value: Any) -> str:
    """A value of the contract or the record in one line, without the brackets of its outermost level."""
    if isinstance(value, dict):
        return ", ".join(f"{name}: {_inner(each)}" for name, each in value.items())
    return ", ".join(_inner(each) for each in value) if isinstance(value, list) else _inner(value)


def _short(details: Any) -> str:
    """Hashes cut to 12 characters; the audit chain has all 64."""
    return re.sub(r"\b([0-9a-f]{12})[0-9a-f]{52}\b", r"\1", _plain(details))


def _inner(value: Any) -> str:
    if isinstance(value, dict):
        return f"({_plain(value)})"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
