"""`anabranch list`, `status`, `describe` and `log`: the runs of a project, and state, records and history of one."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anabranch.cli.options import ContextName, ProjectFolder, RunId, open_run
from anabranch.cli.output import Format, Output, emit, print_table

if TYPE_CHECKING:
    from datetime import datetime

    from rich.console import Console

    from anabranch.app.backfill import BackfillRun
    from anabranch.runs.journal import JournalEntry
    from anabranch.runs.run import Run


def list_runs(
    every: Annotated[bool, typer.Option("--all", help="Include runs that have ended.")] = False,
    project: ProjectFolder = Path(),
    context: ContextName = None,
    output: Output = Format.TABLE,
) -> None:
    """List the active runs of the project, or all of them."""
    from anabranch.app.project_context import open_project
    from anabranch.runs.states import ACTIVE

    with open_project(project, context).store(create=False) as store:
        runs = store.reader.runs(states=None if every else ACTIVE)

    def table(console: Console) -> None:
        rows = []
        for each in runs:
            start, end = (f"{at:%Y-%m-%d %H:%M}" if at else "" for at in (each.target.start, each.target.end))
            rows.append((each.id, each.state.value, each.pipeline, each.target.table, start, end, each.author))
        print_table(console, ("run", "state", "pipeline", "target", "from", "to", "author"), rows)

    emit([_summary(each) for each in runs], output, table)


def status(
    run: RunId, project: ProjectFolder = Path(), context: ContextName = None, output: Output = Format.TABLE
) -> None:
    """Show the state of a run. Prints staged slices, the process working on it, approval and possible commands."""
    with open_run(run, project, context) as backfill:
        document = _status(backfill)

    def table(console: Console) -> None:
        from anabranch.replay.pace_report import pace_lines

        slices = document["slices"]
        console.print(f"run       {document['run']}", markup=False)
        console.print(f"state     {document['state']}", style="bold", markup=False)
        console.print(f"slices    {slices['done']} of {slices['planned']} in staging", markup=False)
        console.print(f"process   {document['holder'] or 'none'}", markup=False)
        for line in pace_lines(document["pace"]):
            console.print(line, markup=False)
        if document["quota"]:
            console.print(f"quota     {document['quota']}", markup=False)
        if document["rollback"]:
            console.print(f"rollback  guaranteed until {document['rollback']['ends_at'][:19]} UTC", markup=False)
        if document["throttle"]:
            console.print(f"throttle  {document['throttle']['words']}", markup=False)
        for each in document["exemptions"]:
            line = f"exempt    from the {each['source']} until {each['until'][:19]}Z by {each['by']}: {each['reason']}"
            console.print(line, markup=False)
        if document["all_paused"]:
            paused = document["all_paused"]
            line = f"held      all replays paused by {paused['by']} since {paused['since'][:19]}Z: {paused['reason']}"
            console.print(line, markup=False)
        if document["queue"]:
            console.print(f"budget    {document['queue']['why']}", markup=False)
        race = document["retention"]["race"]
        for line in document["retention"]["countdown"]:
            console.print(f"retention {line}", markup=False)
        if race is not None and race["answer"] != "enough-time":
            console.print(f"          {race['answer']}: {race['steps'][-1]}", markup=False)
        for each in document["retention"]["extended"]:
            line = f"retention.ms of {each['topic']} is extended from {each['was_ms']} to {each['to_ms']} by this run"
            console.print(line, markup=False)
        for each in document["silent"]:
            limit = f"; the run pauses at {each['pauses_at'][:19]}Z" if each["pauses_at"] else ""
            line = f"waits for {each['service']}, which has not answered since {each['since'][:19]}Z{limit}"
            console.print(line, markup=False)
        if document["paused_by"]:
            paused = document["paused_by"]
            line = f"paused by {paused['service']}, which had not answered since {paused['since'][:19]}Z"
            console.print(line, markup=False)
        if document["fault"]:
            console.print(f"fault     {document['fault']['text']}  [{document['fault']['code']}]", markup=False)
        console.print(f"approval  {document['approval']['words']}", markup=False)
        console.print(f"possible  {_commands(document['may'])}", markup=False)

    emit(document, output, table)


_COMMANDS = {
    "start": "retry",
    "pause": "pause",
    "resume": "resume",
    "retry": "retry",
    "accept": "validate",
    "promote": "promote",
    "roll_back": "rollback",
    "cancel": "cancel",
    "close": "close",
}
"""The commands by which a user causes an event; Anabranch causes the others itself."""


def _commands(events: Iterable[str]) -> str:
    """The commands that the run's state allows, such as `anabranch promote`."""
    named = dict.fromkeys(_COMMANDS[event] for event in events if event in _COMMANDS)
    return f"anabranch {' | '.join(named)}" if named else "none"


def describe(
    run: RunId, project: ProjectFolder = Path(), context: ContextName = None, output: Output = Format.TABLE
) -> None:
    """Show every record of a run. Prints contract, plan, ledger, steps, approvals and overrides."""
    from anabranch.close.closure import slice_ledgers
    from anabranch.gates.acknowledgements import acknowledgements_of
    from anabranch.gates.approval.approval import approvals_of
    from anabranch.gates.overrides import overrides_of
    from anabranch.replay.slice_ledger import total

    with open_run(run, project, context) as backfill:
        documents = backfill.store.reader.documents(backfill.run_id)
        journal = backfill.store.reader.journal(backfill.run_id)
        bytes_read, account = total(slice_ledgers(journal))
        steps = [_step(entry) for entry in journal if entry.step not in ("slice", "control")]
        document = {
            **_status(backfill),
            "contract": dict(documents.contract),
            "plan": dict(documents.plan),
            "ledger": {"bytes": bytes_read, **account.document()},
            "steps": steps,
            "approvals": [each.document() for each in approvals_of(backfill.store.reader, backfill.run)],
            "overrides": [
                each.document()
                for each in overrides_of(
                    backfill.store.reader, run_id=backfill.run_id, contract=backfill.plan.contract
                ).values()
            ],
            "acknowledged_red": [
                each.document()
                for each in acknowledgements_of(
                    backfill.store.reader, run_id=backfill.run_id, contract=backfill.plan.contract
                ).values()
            ],
            "folder": str(backfill.folder),
        }

    def table(console: Console) -> None:
        from anabranch.cli.output import as_yaml

        shown = {key: value for key, value in document.items() if key != "plan"}
        console.print(as_yaml(shown), markup=False, end="")

    emit(document, output, table)


def log(
    run: RunId, project: ProjectFolder = Path(), context: ContextName = None, output: Output = Format.TABLE
) -> None:
    """Show the history of a run: its records in the audit chain."""
    with open_run(run, project, context) as backfill:
        records = backfill.store.reader.audit(run_id=backfill.run_id)

    def table(console: Console) -> None:
        rows = []
        for each in records:
            states = f"{each.from_state} → {each.to_state}" if each.from_state else (each.to_state or "")
            details = "" if each.details == "{}" else each.details
            rows.append((each.at[:19], each.actor, each.action, states, details))
        print_table(console, ("at", "actor", "action", "state", "details"), rows)

    emit([each.as_dict() for each in records], output, table)


def _step(entry: JournalEntry) -> dict[str, Any]:
    outcome = entry.outcome.value if entry.outcome else "open"
    return {"step": entry.step, "id": entry.id, "outcome": outcome, "at": entry.intended_at.isoformat()}


def _summary(run: Run) -> dict[str, Any]:
    return {
        "run": run.id,
        "state": run.state.value,
        "pipeline": run.pipeline,
        "target": run.target.table,
        "from": run.target.start.isoformat() if run.target.start else None,
        "to": run.target.end.isoformat() if run.target.end else None,
        "author": run.author,
        "created_at": run.created_at.isoformat(),
        "updated_at": run.updated_at.isoformat(),
    }


def _retention(backfill: BackfillRun, now: datetime) -> dict[str, Any]:
    """The race against retention as the replay last noted it, with the time that is left now."""
    from anabranch.cli.render_race import countdown
    from anabranch.replay.retention_extension import STEP, ExtensionIntent
    from anabranch.runs.canonical import instant_text

    note = backfill.store.reader.retention_race(backfill.run_id)
    extended = [
        ExtensionIntent.of(each).document()
        for each in backfill.store.reader.open_steps(STEP)
        if each.run_id == backfill.run_id
    ]
    if note is None or not note.details["reading"]:
        return {"at": None, "race": None, "countdown": [], "extended": extended}
    race = {key: value for key, value in note.details.items() if key != "order"}
    return {
        "at": instant_text(note.at),
        "race": race,
        "countdown": list(countdown(note.details, now)),
        "extended": extended,
    }


def _status(backfill: BackfillRun) -> dict[str, Any]:
    from datetime import datetime, timezone

    from anabranch.app.approval import approval_document
    from anabranch.app.replay_holds import pause_switch
    from anabranch.app.replay_queue import queue_entry
    from anabranch.replay.controls import operator_limits, read_controls
    from anabranch.replay.pace_report import pace_document
    from anabranch.replay.quota_overview import quota_line
    from anabranch.replay.service_reports import paused_by_outage, silent_services
    from anabranch.runs.journal import Outcome
    from anabranch.runs.states import legal_events

    run = backfill.run
    lease = backfill.store.reader.lease(run.id)
    journal = backfill.store.reader.journal(run.id)
    records = backfill.store.reader.audit(run_id=run.id)
    all_paused = pause_switch(backfill.store).read(backfill.project_context.loaded.context)
    now = datetime.now(timezone.utc)
    done = sum(e.step == "slice" and e.outcome is Outcome.SUCCEEDED for e in journal)
    return {
        **_summary(run),
        "slices": {"planned": len(backfill.plan.slices), "done": done},
        "epoch": run.epoch,
        "holder": lease.holder,
        **operator_limits(read_controls(records, None)),
        "all_paused": None if all_paused is None else all_paused.document(),
        "queue": queue_entry(backfill.project_context, backfill.store, run.id),
        "retention": _retention(backfill, now),
        "pace": pace_document(backfill.store.reader.pace(run.id), run.state),
        "quota": quota_line(backfill.store.reader, run.id),
        "silent": silent_services(records, lease),
        "paused_by": paused_by_outage(records, run.state),
        "rollback": None if backfill.rollback_horizon is None else backfill.rollback_horizon.document(),
        "fault": {"code": run.fault.code, "text": run.fault.text} if run.fault else None,
        "approval": approval_document(backfill, now),
        "may": [event.value for event in legal_events(run.state)],
    }
