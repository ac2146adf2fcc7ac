"""A runbook as Markdown, for a wiki or a ticket."""

from __future__ import annotations

import re

from typing_extensions import assert_never

from anabranch.pages.runbook.document import Block, Code, FactList, Grid, MissingPart, Paragraph, Runbook, Text
from anabranch.runs.printable import printable


def render_markdown(book: Runbook) -> str:
    parts = [f"# {_text(book.title)}", f"**{_text(book.state.capitalize())}.** {_text(book.production)}"]
    for section in book.sections:
        parts += [f"## {_text(section.title)}", *(_block(block) for block in section.blocks)]
    return "\n\n".join([*parts, f"_{_text(book.footer)}_"]) + "\n"


def _block(block: Block) -> str:
    match block:
        case Paragraph(text):
            return _text(text)
        case FactList(pairs):
            return "\n".join(f"- {_text(name)}: {_text(value)}" for name, value in pairs)
        case Grid(headings, rows):
            lines = [headings, tuple("---" for _ in headings)]
            shown = [*(_line(row) for row in lines), *(_line(tuple(_text(cell) for cell in row)) for row in rows)]
            return "\n".join(shown)
        case MissingPart(command):
            return f"Not measured. To measure: {_text(command)}"
        case _:
            assert_never(block)


def _line(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"


def _text(text: Text) -> str:
    """Escapes Markdown, and folds whitespace so that no value breaks a line or a table."""
    flat = " ".join(printable(text).split())
    if isinstance(text, Code):
        # A fence must be longer than any run of backticks inside.
        longest = max((len(run) for run in re.findall("`+", flat)), default=0)
        fence, space = "`" * (longest + 1), " " if longest else ""
        return f"{fence}{space}{flat}{space}{fence}".replace("|", "\\|")
    return re.sub(r"([\\`*_{}\[\]<>#|&~])", r"\\\1", flat)
