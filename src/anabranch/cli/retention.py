"""`anabranch retention audit`: compare the retention of topics with the time to find and correct a fault."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anabranch.cli.options import ContextName, ProjectFolder
from anabranch.cli.output import STYLES, Format, Output, emit, print_table, say

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from anabranch.readiness.retention import RetentionAudit, TopicVerdict

retention = typer.Typer(
    name="retention",
    help="Audit the retention of topics; restore extended retention.",
    no_args_is_help=True,
)

BAR = 16
"""Characters of the bar. Its middle is the retention that the class requires, its end twice as much."""


@retention.command()
def audit(
    topics: Annotated[
        list[str] | None, typer.Argument(metavar="[TOPIC]...", help="Only these topics.", show_default="all")
    ] = None,
    project: ProjectFolder = Path(),
    context: ContextName = None,
    output: Output = Format.TABLE,
) -> None:
    """Show per topic how far back a replay can go.

    Also what its class requires, and the bytes that longer retention would add.

    Exit code 3 if a topic is red: its records would be deleted before a fault of today is corrected.
    """
    from datetime import datetime, timezone

    from anabranch.app.project_context import open_project
    from anabranch.app.retention import audit_retention
    from anabranch.errors import ExitCode
    from anabranch.gates.colour import Colour

    project_context = open_project(project, context)
    found = audit_retention(project_context, now=datetime.now(timezone.utc), only=tuple(topics) if topics else None)
    missing = sorted(set(topics or ()) - {each.topic.name for each in found.topics})
    emit({**found.document(), "missing": missing}, output, lambda console: _table(console, found))
    for name in missing:
        say(f"Topic {name} does not exist, or this user may not see it.")
    if missing or found.colour is Colour.RED:
        raise typer.Exit(int(ExitCode.REFUSED))


@retention.command()
def sweep(
    project: ProjectFolder = Path(),
    context: ContextName = None,
    output: Output = Format.TABLE,
) -> None:
    """Restore the retention.ms that runs of ended processes extended.

    Extensions of running processes are listed. Every command that works on a run does the same. Exit code 3 if an
    extension could not be restored.
    """
    from anabranch.app.backfill import operator
    from anabranch.app.project_context import open_project
    from anabranch.app.retention_race import sweep_extensions
    from anabranch.errors import ExitCode

    project_context = open_project(project, context)
    restored: list[str] = []
    failed: list[str] = []
    with project_context.store(create=False) as store:
        standing = sweep_extensions(project_context, store, operator(), restored.append, failed.append)
    document = {
        "restored": restored,
        "failed": failed,
        "standing": [{"run": each.run, **each.document()} for each in standing],
    }

    def table(console: Console) -> None:
        for line in (*restored, *failed):
            console.print(line, markup=False)
        for each in standing:
            extended = f"extended from {each.was_ms} to {each.to_ms}"
            line = f"Run {each.run} replays with retention.ms of {each.topic} {extended}."
            console.print(line, markup=False)
        if not restored and not failed and not standing:
            console.print("No run has extended the retention of a topic.")

    emit(document, output, table)
    if failed:
        raise typer.Exit(int(ExitCode.REFUSED))


def _table(console: Console, found: RetentionAudit) -> None:
    from rich.text import Text

    if not found.topics:
        console.print("No topic is visible to this user.")
        return
    headings = ("", "topic", "class", "replay from", "today", "settings", "required", "", "per day")
    print_table(console, headings, ((_mark(each), each.topic.name, *_cells(each)) for each in found.topics))
    for each in found.topics:
        if each.to_green:
            more = "" if each.more_bytes is None else f" (about {_bytes(each.more_bytes)} more on disk)"
            console.print()
            console.print(Text.assemble(_mark(each), f" {each.topic.name}: {each.words}{more}"))
            console.print(Text(f"  {each.to_green}", "dim"))
    count = found.document()["count"]
    console.print(
        f"\n{len(found.topics)} topic{'' if len(found.topics) == 1 else 's'}: "
        + ", ".join(f"{number} {colour}" for colour, number in count.items())
    )


def _cells(each: TopicVerdict) -> tuple[Text | str, ...]:
    from anabranch.project.quantities import roughly
    from anabranch.readiness.topic_retention import growth

    needs = None if each.classified is None else each.classified.needs.total
    rate = growth(each.topic)
    known = each.topic.partitions is not None
    promised = "unknown"
    if each.promise is not None:
        promised = "unlimited" if each.promise.kept is None else roughly(each.promise.kept)
    return (
        each.classified.topic_class.value if each.classified else "",
        ("the beginning" if each.oldest is None else f"{each.oldest:%Y-%m-%d %H:%M}") if known else "unknown",
        ("all" if each.reach is None else roughly(each.reach)) if known else "unknown",
        promised,
        "" if needs is None else roughly(needs),
        _bar(each),
        "unknown" if rate is None else _bytes(round(rate * 86400)),
    )


def _bar(each: TopicVerdict) -> Text | str:
    """Retention by the settings, beside the retention that the class requires."""
    from rich.text import Text

    if each.classified is None or each.promise is None:
        return ""
    retention, needs = each.promise.kept, each.classified.needs.total
    filled = BAR if retention is None else min(BAR, round(retention / needs * BAR / 2))
    line = "█" * filled + "░" * (BAR - filled)
    return Text(f"{line[: BAR // 2]}│{line[BAR // 2 :]}", STYLES[each.colour.value])


def _mark(each: TopicVerdict) -> Text:
    from rich.text import Text

    return Text({"green": "✓", "yellow": "!", "red": "✗"}[each.colour.value], STYLES[each.colour.value])


def _bytes(size: int) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:,.0f} {unit}" if unit == "B" else f"{size:,.1f} {unit}"
        size = size / 1000  # type: ignore[assignment]
    return f"{size:,.1f} TB"
