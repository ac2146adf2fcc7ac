"""Finds non-deterministic calls in SQL by its tokens; comments, string literals and quoted names are skipped."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from anabranch.contract.determinism.calls import (
    CLOCK,
    LOOKUP,
    ONLY_WITHOUT_ARGUMENTS,
    SQL,
    SQL_WORDS,
    TABLE,
    Unpinned,
)
from anabranch.contract.determinism.tables_in_sql import tables_read

_TOKEN = re.compile(
    r"""(?P<skip>\s+|--[^\n]*|/\*.*?(?:\*/|\Z)|`(?:[^`]|``)*`)
      | (?P<text>[rR]?'(?:[^'\\]|\\.)*'|[rR]?"(?:[^"\\]|\\.)*")
      | (?P<word>[A-Za-z_][A-Za-z0-9_]*)
      | (?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)
_TYPED = frozenset({"date", "timestamp", "timestamp_ntz", "timestamp_ltz"})
_NOW_WORDS = frozenset({"now", "today", "yesterday", "tomorrow"})


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    line: int


def find_in_sql(text: str, file: str, *, line: int = 1, columns: frozenset[str] = frozenset()) -> Iterator[Unpinned]:
    """`columns` are names of the source's own columns: `current_date` alone means such a column where there is one."""
    end = _Token("other", "", 0)
    given = list(_tokens(text, line))
    yield from (Unpinned(file, token.line, TABLE, LOOKUP) for token in tables_read(given))
    tokens = [end, *given, end, end]
    for at in range(1, len(tokens) - 2):
        before, token, after, beyond = tokens[at - 1 : at + 3]
        name = token.text.lower()
        if token.kind != "word" or before.text == ".":
            continue
        if name in _TYPED and after.kind == "text" and _is_now(after.text):
            yield Unpinned(file, token.line, "now", CLOCK)
        elif name in SQL and after.text == "(":
            if beyond.text == ")" or name not in ONLY_WITHOUT_ARGUMENTS:
                yield Unpinned(file, token.line, name, SQL[name])
        elif name in SQL_WORDS and name not in columns and before.text.lower() != "as":
            yield Unpinned(file, token.line, name, SQL[name])


def _is_now(text: str) -> bool:
    """`TIMESTAMP 'now'` is the time of the query."""
    return text.strip("rR").strip("'\"").strip().lower() in _NOW_WORDS


def _tokens(text: str, line: int) -> Iterator[_Token]:
    for match in _TOKEN.finditer(text):
        if match.lastgroup != "skip":
            yield _Token(str(match.lastgroup), match[0], line + text.count("\n", 0, match.start()))
