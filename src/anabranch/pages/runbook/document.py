"""The parts of a runbook, whether it is rendered as Markdown or as HTML."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal


class Code(str):
    """A command to type, or an identifier."""

    __slots__ = ()


Text = str | Code


@dataclass(frozen=True)
class Paragraph:
    kind: ClassVar[Literal["paragraph"]] = "paragraph"
    text: str


@dataclass(frozen=True)
class FactList:
    """Names and values, one to a line."""

    kind: ClassVar[Literal["facts"]] = "facts"
    pairs: tuple[tuple[str, Text], ...]


@dataclass(frozen=True)
class Grid:
    kind: ClassVar[Literal["grid"]] = "grid"
    headings: tuple[str, ...]
    rows: tuple[tuple[Text, ...], ...]


@dataclass(frozen=True)
class MissingPart:
    """A part that was not measured, and the command that measures it."""

    kind: ClassVar[Literal["missing"]] = "missing"
    command: Code


Block = Paragraph | FactList | Grid | MissingPart


@dataclass(frozen=True)
class Section:
    title: str
    blocks: tuple[Block, ...]

    @property
    def anchor(self) -> str:
        """The id of its heading on the page."""
        return self.title.lower().replace(",", "").replace(" ", "-")


@dataclass(frozen=True)
class Runbook:
    title: str
    state: str
    """State of the run in one word."""
    production: str
    """What the state means for production."""
    settled: bool
    """Whether it is known what production has: no promotion or rollback is in progress."""
    sections: tuple[Section, ...]
    footer: str


def facts(pairs: Iterable[tuple[str, Text | None]]) -> FactList:
    """The pairs that have a value."""
    return FactList(tuple((name, value) for name, value in pairs if value is not None))


def grid(headings: Sequence[str], rows: Iterable[Sequence[Text]]) -> Grid:
    return Grid(tuple(headings), tuple(tuple(row) for row in rows))
