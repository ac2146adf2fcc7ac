"""`anabranch audit`: list the audit records, and prove that none was changed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anabranch.cli.output import Format, Output, emit
from anabranch.errors import NOTHING_CHANGED, AnabranchError, ExitCode

if TYPE_CHECKING:
    from rich.console import Console

    from anabranch.adapters.sql.store import SqlRunStore
    from anabranch.runs.audit import Anchor, AuditRecord, ChainVerdict

audit = typer.Typer(name="audit", help="List the audit records, and prove that none was changed.", no_args_is_help=True)

Project = Annotated[
    Path | None, typer.Option("--project", help="The project's folder, or any folder inside it.", show_default="here")
]
Context = Annotated[
    str | None, typer.Option(help="The context to use.", show_default="ANABRANCH_CONTEXT, or the project's default")
]


class AuditBrokenError(AnabranchError):
    code = "audit.broken"
    exit_code = ExitCode.REFUSED


class AnchorUnreadableError(AnabranchError):
    code = "audit.anchor-unreadable"
    exit_code = ExitCode.USAGE


@audit.command()
def verify(
    project: Project = None,
    context: Context = None,
    anchor: Annotated[
        Path | None,
        typer.Option(help="What `audit verify -o json` printed earlier, kept where nobody rewrites it."),
    ] = None,
    output: Output = Format.TABLE,
) -> None:
    """Walk the whole audit chain and name the first record that was changed, taken out or put in.

    Someone who may write to the database can rewrite the end of the chain so that it fits together again.
    Only an anchor shows that: keep the JSON of this command elsewhere, and give it to a later one.
    """
    witness = None if anchor is None else _read_anchor(anchor)
    with _open(project, context) as store:
        verdict = store.reader.verify_audit(witness)
    emit(verdict.as_dict(), output, lambda console: _draw_verdict(console, verdict, witness))
    if not verdict.intact:
        raise AuditBrokenError(
            f"The audit chain is broken at record {verdict.seq}: {verdict.flaw.value if verdict.flaw else ''}.",
            state="Verification only reads.",
            hint=f"keep a copy of the database; `anabranch audit list` shows the records around {verdict.seq}",
            seq=verdict.seq,
            flaw=verdict.flaw.value if verdict.flaw else None,
        )


@audit.command(name="list")
def list_records(
    project: Project = None,
    context: Context = None,
    run: Annotated[str | None, typer.Option(help="Only the records of this run.")] = None,
    after: Annotated[int, typer.Option(help="Begin after this record.")] = 0,
    limit: Annotated[int | None, typer.Option(min=1, help="At most so many records.")] = None,
    output: Output = Format.TABLE,
) -> None:
    """List the audit records, oldest first."""
    with _open(project, context) as store:
        records = store.reader.audit(run_id=run, after=after, limit=limit)
    emit([record.as_dict() for record in records], output, lambda console: _draw_records(console, records))


def _open(project: Path | None, context: str | None) -> SqlRunStore:
    from anabranch.adapters.sql.store import open_store
    from anabranch.app.control_database import control_database_url
    from anabranch.project.load import load_project
    from anabranch.project.location import find_project_folder

    loaded = load_project(find_project_folder(project or Path.cwd()), context)
    return open_store(control_database_url(loaded), create=False)


def _read_anchor(file: Path) -> Anchor:
    import json

    from anabranch.runs.audit import Anchor

    try:
        head = json.loads(file.read_text("utf-8"))["head"]
        seq, digest = head["seq"], head["hash"]
        if type(seq) is not int or type(digest) is not str:
            raise TypeError(f"head is {head}")  # noqa: TRY301 - one place tells all that can be wrong with the file
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise AnchorUnreadableError(
            f"{file} is not an anchor: a JSON file with the head of the chain, its seq and its hash.",
            state=NOTHING_CHANGED,
            hint="give it the output of an earlier `anabranch audit verify -o json`",
            file=str(file),
        ) from error
    return Anchor(seq, digest)


def _draw_verdict(console: Console, verdict: ChainVerdict, witness: Anchor | None) -> None:
    if verdict.intact:
        seen = "" if witness is None else f", and the anchor at record {witness.seq} is part of it"
        console.print(f"intact: {verdict.head.seq} records, each following the one before it{seen}")
        console.print(f"head: {verdict.head.seq} {verdict.head.hash}")
    else:
        console.print(f"broken at record {verdict.seq}: {verdict.reason}", markup=False)
        console.print(f"intact up to: {verdict.head.seq} {verdict.head.hash}")


def _draw_records(console: Console, records: Sequence[AuditRecord]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table("seq", "at", "actor", "run", "action", "from", "to", "epoch", "details", box=None, pad_edge=False)
    for each in records:
        cells = (each.seq, each.at, each.actor, each.run_id, each.action, each.from_state, each.to_state, each.epoch)
        # Text, never markup: what others wrote into a record must not colour or hide anything on a terminal.
        table.add_row(*(Text("" if cell is None else str(cell)) for cell in (*cells, each.details)))
    console.print(table)
