"""Finds tables that SQL reads by their own name, `database.table`: views and common tables have names of one word."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

_ENDS_FROM = frozenset(
    (
        *("select", "where", "group", "having", "window", "union", "intersect", "except"),
        *("order", "sort", "cluster", "distribute", "limit"),
    )
)


class Token(Protocol):
    @property
    def kind(self) -> str: ...

    @property
    def text(self) -> str: ...

    @property
    def line(self) -> int: ...


class _Level:
    """The state within one pair of parentheses: inside a query, and inside its FROM clause."""

    def __init__(self) -> None:
        self.query = False
        self.sources = False


def tables_read(tokens: Sequence[Token]) -> Iterator[Token]:
    """The token before each such name. `EXTRACT(day FROM e.at)` and `IS DISTINCT FROM e.x` read no table."""
    levels = [_Level()]
    for at, token in enumerate(tokens):
        level, word = levels[-1], token.text.lower() if token.kind == "word" else token.text
        if word == "(":
            levels.append(_Level())
        elif word == ")" and len(levels) > 1:
            levels.pop()
        elif token.kind == "word" and word in _ENDS_FROM:
            level.query, level.sources = level.query or word == "select", False
        elif word == "from" and token.kind == "word":
            level.sources = level.query and not _is(tokens, at - 1, "distinct")
        begins = level.sources and word in ("from", "join", ",")
        if begins and _is_dotted(tokens, at + 1):
            yield token


def _is_dotted(tokens: Sequence[Token], at: int) -> bool:
    """A word and a dot. Quoted names were skipped, so only their dot remains."""
    return _is(tokens, at, ".") or (at < len(tokens) and tokens[at].kind == "word" and _is(tokens, at + 1, "."))


def _is(tokens: Sequence[Token], at: int, text: str) -> bool:
    return 0 <= at < len(tokens) and tokens[at].text.lower() == text
