"""`anabranch audit`: list the audit records and verify their hash chain."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anabranch.cli.options import ContextName, ProjectFolder
from anabranch.cli.output import Format, Output, emit, print_table
from anabranch.errors import NOTHING_CHANGED, AnabranchError, ExitCode

if TYPE_CHECKING:
    from rich.console import Console

    from anabranch.adapters.sql.store import SqlRunStore
    from anabranch.runs.audit import Anchor, AuditRecord, ChainVerdict

audit = typer.Typer(name="audit", help="List the audit records and verify their hash chain.", no_args_is_help=True)


class AuditBrokenError(AnabranchError):
    code = "audit.broken"
    exit_code = ExitCode.REFUSED


class AnchorUnreadableError(AnabranchError):
    code = "audit.anchor-unreadable"
    exit_code = ExitCode.USAGE


@audit.command()
def verify(
    project: ProjectFolder = Path(),
    context: ContextName = None,
    anchor: Annotated[
        Path | None,
        typer.Option(help="Output of an earlier `audit verify -o json`, stored elsewhere."),
    ] = None,
    output: Output = Format.TABLE,
) -> None:
    """Verify the whole audit chain. Names the first record that was changed, removed or inserted.

    Who can write to the database can rewrite the end of the chain consistently. Only an anchor reveals that:
    store the JSON output of this command elsewhere and pass it to a later one.
    """
    witness = None if anchor is None else _read_anchor(anchor)
    with _open(project, context) as store:
        verdict = store.reader.verify_audit(witness)
    emit(verdict.as_dict(), output, lambda console: _draw_verdict(console, verdict, witness))
    if not verdict.intact:
        raise AuditBrokenError(
            f"The audit chain is broken at record {verdict.seq}: {verdict.flaw.value if verdict.flaw else ''}.",
            state=NOTHING_CHANGED,
            command=f"anabranch audit list --after {max(0, (verdict.seq or 0) - 5)} --limit 10",
            hint="copy the database first",
            seq=verdict.seq,
            flaw=verdict.flaw.value if verdict.flaw else None,
        )


@audit.command(name="list")
def list_records(
    project: ProjectFolder = Path(),
    context: ContextName = None,
    run: Annotated[str | None, typer.Option(help="Only the records of this run.")] = None,
    after: Annotated[int, typer.Option(help="Begin after this sequence number.")] = 0,
    limit: Annotated[int | None, typer.Option(min=1, help="Maximum number of records.")] = None,
    output: Output = Format.TABLE,
) -> None:
    """List the audit records, oldest first."""
    with _open(project, context) as store:
        records = store.reader.audit(run_id=run, after=after, limit=limit)
    emit([record.as_dict() for record in records], output, lambda console: _draw_records(console, records))


def _open(project: Path, context: str | None) -> SqlRunStore:
    from anabranch.adapters.sql.store import open_store
    from anabranch.app.control_database import control_database_url
    from anabranch.project.load import load_project
    from anabranch.project.location import find_project_folder

    loaded = load_project(find_project_folder(project), context)
    return open_store(control_database_url(loaded), create=False)


def _read_anchor(file: Path) -> Anchor:
    import json

    from anabranch.runs.audit import Anchor

    try:
        head = json.loads(file.read_text("utf-8"))["head"]
        seq, digest = head["seq"], head["hash"]
        if type(seq) is not int or type(digest) is not str:
            raise TypeError(f"head is {head}")  # noqa: TRY301 - reported with the other faults of the file
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise AnchorUnreadableError(
            f"{file} is not an anchor: a JSON file with `head.seq` and `head.hash`.",
            state=NOTHING_CHANGED,
            hint="pass the stored output of an earlier `anabranch audit verify -o json`",
            file=str(file),
        ) from error
    return Anchor(seq, digest)


def _draw_verdict(console: Console, verdict: ChainVerdict, witness: Anchor | None) -> None:
    if verdict.intact:
        seen = "" if witness is None else f" that contains the anchor at record {witness.seq}"
        console.print(f"intact: {verdict.head.seq} records in an unbroken chain{seen}")
        console.print(f"head: {verdict.head.seq} {verdict.head.hash}")
    else:
        console.print(f"broken at record {verdict.seq}: {verdict.reason}", markup=False)
        console.print(f"intact up to: {verdict.head.seq} {verdict.head.hash}")


def _draw_records(console: Console, records: Sequence[AuditRecord]) -> None:
    headings = ("seq", "at", "actor", "run", "action", "from", "to", "epoch", "details")
    fields = ("seq", "at", "actor", "run_id", "action", "from_state", "to_state", "epoch", "details")
    print_table(console, headings, ([getattr(each, field) for field in fields] for each in records))
