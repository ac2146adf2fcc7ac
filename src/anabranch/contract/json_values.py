"""Checks whether a JSON value fits a pipeline's declared schema, without Spark: for samples, not for rows.

Where this check and Spark's decoding may differ, this one is more lenient: it may accept a bad value and never rejects
a good one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, NoReturn

from anabranch.contract.pipeline import PipelineSpec

_TOKEN = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_]*|[0-9]+|[<>(),:])")
_DATE = r"\d{4}-\d{2}-\d{2}"
_TIME = rf"{_DATE}[T ]\d{{2}}:\d{{2}}:\d{{2}}([.]\d{{1,9}})?(Z|[+-]\d{{2}}:?\d{{2}})?"
_BITS = {"byte": 8, "tinyint": 8, "short": 16, "smallint": 16, "int": 32, "integer": 32, "bigint": 64, "long": 64}
_FLOATS = frozenset({"double", "float", "real"})

Fits = Callable[[Any], bool]
"""Applied to a value that is present and not null."""


class ValueCheck:
    """Built once for a pipeline, then called for each record."""

    def __init__(self, spec: PipelineSpec) -> None:
        self._fits = {name: _parse(kind) for name, kind in spec.source.columns.items()}
        self._event_time = next(
            (name for name in spec.source.columns if name.lower() == spec.event_time.field.lower()), None
        )

    def problem(self, value: bytes | None) -> str | None:
        """Why the record can't be decoded; None if it can. A record without a value is a tombstone and no problem."""
        if value is None:
            return None
        try:
            read = json.loads(value.decode("utf-8"), parse_constant=_refuse)
        except (ValueError, RecursionError):
            return "the value is not JSON"
        if not isinstance(read, Mapping):
            return "the value is not one JSON object"
        for name, fits in self._fits.items():
            if read.get(name) is not None and not fits(read[name]):
                return f"{name} is not of its declared type"
        if self._event_time is not None and read.get(self._event_time) is None:
            return f"{self._event_time}, the event time, is missing"
        return None


def _refuse(_word: str) -> NoReturn:
    raise ValueError("not standard JSON")


def _parse(text: str) -> Fits:
    """The types are valid: they were checked when the pipeline was loaded."""
    return _kind(_TOKEN.findall(text))


def _kind(tokens: list[str]) -> Fits:
    """Consumes one type from the front of the tokens."""
    word = tokens.pop(0).lower()
    if word in ("decimal", "dec", "numeric"):
        del tokens[: 5 if tokens[:1] == ["("] else 0]
        return _is_decimal
    if word == "array":
        element = _inside(tokens)
        return lambda value: isinstance(value, list) and all(each is None or element(each) for each in value)
    if word == "map":
        del tokens[:3]
        element = _kind(tokens)
        del tokens[:1]
        return lambda value: isinstance(value, dict) and all(each is None or element(each) for each in value.values())
    return _struct(tokens) if word == "struct" else _simple(word)


def _inside(tokens: list[str]) -> Fits:
    del tokens[:1]
    element = _kind(tokens)
    del tokens[:1]
    return element


def _struct(tokens: list[str]) -> Fits:
    fields: dict[str, Fits] = {}
    while tokens.pop(0) != ">":  # before each field stands `<` or `,`
        name, _ = tokens.pop(0), tokens.pop(0)
        fields[name] = _kind(tokens)
    return lambda value: (
        isinstance(value, dict)
        and all(each is None or fields.get(name, _anything)(each) for name, each in value.items())
    )


def _simple(word: str) -> Fits:
    if word in _BITS:
        limit = 2 ** (_BITS[word] - 1)
        return lambda value: type(value) is int and -limit <= value < limit
    if word in _FLOATS:
        return lambda value: type(value) in (int, float)
    if word == "boolean":
        return lambda value: type(value) is bool
    if word == "date":
        return lambda value: isinstance(value, str) and re.fullmatch(_DATE, value) is not None
    if word in ("timestamp", "timestamp_ntz"):
        return lambda value: isinstance(value, str) and re.fullmatch(_TIME, value) is not None
    return _anything


def _anything(_value: Any) -> bool:
    """A string column accepts any value, as Spark's reader does."""
    return True


def _is_decimal(value: Any) -> bool:
    if isinstance(value, str):
        try:
            return Decimal(value).is_finite()
        except InvalidOperation:
            return False
    return type(value) in (int, float)
