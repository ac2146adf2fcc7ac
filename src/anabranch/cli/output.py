"""Output of commands: the result on stdout as a table, JSON or YAML; everything else on stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Annotated

import typer

from anabranch.cli.pasteable import pasteable, with_contract
from anabranch.errors import AnabranchError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text


class Format(str, Enum):
    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


def _remember(value: Format) -> Format:
    global _chosen
    _chosen = value
    return value


_chosen = Format.TABLE
"""Format of the current command. An error is printed in the same format."""

Output = Annotated[
    Format,
    typer.Option("--output", "-o", callback=_remember, help="Format of the result.", show_default=True),
]


PIPE_COLUMNS = 4096


def stdout() -> Console:
    """The console for results. Plain text when it is not a terminal or NO_COLOR is set."""
    from rich.console import Console

    # A pipe has no width: a table folded there could not be searched by grep.
    width = None if sys.stdout.isatty() else PIPE_COLUMNS
    return Console(width=width, soft_wrap=width is not None, highlight=False)


def stderr() -> Console:
    """The console for progress, warnings and errors. Stdout has nothing but the result."""
    from rich.console import Console

    return Console(stderr=True, soft_wrap=not sys.stderr.isatty(), highlight=False)


def emit(document: object, output: Format, table: Callable[[Console], None]) -> None:
    """Print one result: `document` as JSON or YAML, or by `table`."""
    match output:
        case Format.TABLE:
            table(stdout())
        case Format.JSON:
            typer.echo(json.dumps(document, indent=2, ensure_ascii=False))
        case Format.YAML:
            typer.echo(as_yaml(document), nl=False)


STYLES = {"green": "green", "yellow": "yellow", "red": "bold red"}
"""Of gates, topics and drills."""


def print_table(
    console: Console, headings: Sequence[str], rows: Iterable[Sequence[object]], *, indent: bool = False
) -> None:
    """Rows below their headings, if any. A cell is text, never markup: data can neither colour nor hide output."""
    from rich.table import Table

    table = Table(*headings, box=None, header_style="dim", show_header=bool(headings), pad_edge=indent)
    for row in rows:
        table.add_row(*map(_cell, row))
    console.print(table)


def print_facts(console: Console, pairs: Iterable[tuple[str, object]], *, indent: bool = False) -> None:
    """Names and values, one pair per line."""
    from rich.table import Table

    table = Table(box=None, show_header=False, pad_edge=indent)
    table.add_column(no_wrap=True, style="bold")
    table.add_column()
    for name, value in pairs:
        table.add_row(name, _cell(value))
    console.print(table)


def _cell(value: object) -> Text:
    from rich.text import Text

    return (
        value if isinstance(value, Text) else Text("" if value is None else with_contract(str(value)), overflow="fold")
    )


def say(words: str) -> None:
    """One line on stderr, with the contract's file for its placeholder."""
    stderr().print(with_contract(words), markup=False)


def say_next(command: str) -> None:
    """The command to run next."""
    say(f"next      {pasteable(command)}")


def report(error: AnabranchError, output: Format | None = None) -> None:
    """Print an error on stderr: what failed, its cause, the state, the command to run and a hint."""
    command = None if error.command is None else pasteable(error.command)
    hint = None if error.hint is None else with_contract(error.hint)
    if (output or _chosen) is not Format.TABLE:
        document = {**error.as_dict(), "command": command, "hint": hint}
        typer.echo(json.dumps({"error": document}, ensure_ascii=False, default=str), err=True)
        return
    from rich.text import Text

    def line(label: str, style: str, words: str) -> None:
        console.print(Text.assemble((f"{label:<10}", style), words))

    console = stderr()
    line("error", "bold red", f"{error.what}  [{error.code}]")
    if error.cause:
        line("cause", "dim", error.cause)
    line("state", "green", error.state)
    if command:
        line("run", "bold", command)
    if hint:
        line("hint", "bold", _sentence(hint))


def _sentence(words: str) -> str:
    """With a capital, unless it begins with a key, a path or a command."""
    first = words.split(maxsplit=1)[0]
    return f"{words[0].upper()}{words[1:]}" if first.rstrip(",:;").isalpha() else words


def as_yaml(document: object) -> str:
    from io import StringIO

    from ruamel.yaml import YAML

    writer = YAML(typ="safe", pure=True)
    writer.default_flow_style = False
    writer.sort_base_mapping_type_on_output = False  # type: ignore[assignment]
    text = StringIO()
    writer.dump(document, text)
    return text.getvalue()
