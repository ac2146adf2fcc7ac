"""Column types of a source: Spark's own names, parsed, so that a misspelt type is found before Spark starts."""

from __future__ import annotations

import re
from collections.abc import Mapping

from anabranch.project.refusals import Problem, refusal

GIVEN = ("_topic", "_partition", "_offset", "_timestamp", "_key", "_headers", "_event_time", "_tombstone", "_window")
"""Columns that `events` has beside the decoded ones: the record's place in the log and its times."""

DECODING = ("_value", "_hash", "_parsed", "_reason", "_raw", "_bytes")
"""Columns that decoding uses internally. A field of the same name would collide with them."""

SIMPLE = frozenset(
    {
        "bigint",
        "binary",
        "boolean",
        "byte",
        "date",
        "double",
        "float",
        "int",
        "integer",
        "long",
        "real",
        "short",
        "smallint",
        "string",
        "timestamp",
        "timestamp_ntz",
        "tinyint",
    }
)
_COLUMN = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_TOKEN = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_]*|[0-9]+|[<>(),:])")
_DEEPEST = 8


class _UnreadableError(ValueError):
    """The type can't be read; the message says why."""


def check_columns(columns: Mapping[str, str]) -> Mapping[str, str]:
    """The columns unchanged. Raises one refusal with every column that can't be used."""
    problems: list[Problem] = []
    seen: dict[str, str] = {}
    for name, type_name in columns.items():
        if not _COLUMN.fullmatch(name):
            problems.append(Problem(f"{name!r} is not a column name", "letters, digits and underscores", (name,)))
        elif name.lower() in GIVEN:
            problems.append(Problem(f"{name} is the name of a built-in column", "another name", (name,)))
        elif name.lower() in DECODING:
            problems.append(Problem(f"{name} is reserved for decoding", "another name", (name,)))
        elif name.lower() in seen:
            what = f"{name!r} and {seen[name.lower()]!r} are the same column: Spark ignores case"
            problems.append(Problem(what, "one of them", (name,)))
        seen[name.lower()] = name
        try:
            parse_type(type_name)
        except _UnreadableError as reason:
            problems.append(
                Problem(f"this is not a column type: {reason}", f"{name}: {_suggestion(type_name)}", (name,))
            )
    if problems:
        raise refusal(*problems)
    return columns


def ddl(columns: Mapping[str, str]) -> str:
    """The columns as Spark reads a schema, in the order of the file."""
    return ", ".join(f"`{name}` {type_name}" for name, type_name in columns.items())


def parse_type(text: str) -> None:
    """Raise unless the text is a Spark type: a simple one, decimal(p,s), array<…>, map<string,…> or struct<…>."""
    tokens, at = [], 0
    while text[at:].strip():
        match = _TOKEN.match(text, at)
        if match is None:
            raise _UnreadableError(f"unexpected {text[at:].strip()[0]!r}")
        tokens.append(match[1])
        at = match.end()
    rest = _type(tokens, 0)
    if rest:
        raise _UnreadableError(f"unexpected {rest[0]!r}")


def _type(tokens: list[str], depth: int) -> list[str]:
    """Consume one type and return the remaining tokens."""
    if depth > _DEEPEST:
        raise _UnreadableError(f"nested deeper than {_DEEPEST} levels")
    if not tokens:
        raise _UnreadableError("it ends too early")
    word, rest = tokens[0].lower(), tokens[1:]
    if word in SIMPLE:
        return rest
    if word in ("decimal", "dec", "numeric"):
        return _decimal(rest)
    if word == "array":
        return _expect(">", _type(_expect("<", rest), depth + 1))
    if word == "map":
        rest = _expect(",", _expect("string", _expect("<", rest)))
        return _expect(">", _type(rest, depth + 1))
    if word == "struct":
        return _struct(_expect("<", rest), depth)
    raise _UnreadableError(f"Spark has no type {tokens[0]!r}")


def _decimal(rest: list[str]) -> list[str]:
    if rest[:1] != ["("]:
        return rest
    if len(rest) < 5 or not rest[1].isdigit() or rest[2] != "," or not rest[3].isdigit():
        raise _UnreadableError("a decimal is written decimal(precision,scale)")
    if not (1 <= int(rest[1]) <= 38 and int(rest[3]) <= int(rest[1])):
        raise _UnreadableError("a decimal has 1 to 38 digits and no larger scale")
    return _expect(")", rest[4:])


def _struct(rest: list[str], depth: int) -> list[str]:
    while True:
        if not rest or not _COLUMN.fullmatch(rest[0]):
            raise _UnreadableError("a struct is written struct<name:type,…>")
        rest = _type(_expect(":", rest[1:]), depth + 1)
        if rest[:1] == [","]:
            rest = rest[1:]
            continue
        return _expect(">", rest)


def _expect(token: str, tokens: list[str]) -> list[str]:
    if not tokens or tokens[0].lower() != token:
        raise _UnreadableError(f"{token!r} is missing")
    return tokens[1:]


def _suggestion(text: str) -> str:
    synonyms = {
        "text": "string",
        "varchar": "string",
        "str": "string",
        "number": "double",
        "int64": "bigint",
        "bool": "boolean",
    }
    return synonyms.get(text.lower(), "string, bigint, double, boolean, timestamp, decimal(18,2), array<…>, struct<…>")
