"""What a runbook is made of, whether it is written as Markdown or drawn as a page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


class Code(str):
    """Text to be typed, or a name as a machine spells it."""

    __slots__ = ()


Text = str | Code


@dataclass(frozen=True)
class Paragraph:
    text: str


@dataclass(frozen=True)
class FactList:
    """Names and values, one to a line."""

    pairs: tuple[tuple[str, Text], ...]


@dataclass(frozen=True)
class Grid:
    headings: tuple[str, ...]
    rows: tuple[tuple[Text, ...], ...]


@dataclass(frozen=True)
class MissingPart:
    """What nobody has measured yet, and the command that does."""

    command: Code


Block = Paragraph | FactList | Grid | MissingPart


@dataclass(frozen=True)
class Section:
    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Runbook:
    title: str
    state: str
    """The state of the run in one word, and what that means for production."""
    production: str
    settled: bool
    """Whether everybody can tell what production has."""
    sections: tuple[Section, ...]
    footer: str


def facts(pairs: Iterable[tuple[str, Text | None]]) -> FactList:
    """Those that there are."""
    return FactList(tuple((name, value) for name, value in pairs if value is not None))


def grid(headings: Sequence[str], rows: Iterable[Sequence[Text]]) -> Grid:
    return Grid(tuple(headings), tuple(tuple(row) for row in rows))
