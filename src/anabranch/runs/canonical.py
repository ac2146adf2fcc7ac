"""Canonical text for JSON values and instants, so that hashes are reproducible."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import datetime, timezone


def canonical(document: object) -> str:
    """JSON with sorted keys, no spaces and ASCII only. Raises TypeError for anything but plain JSON values.

    An object that is converted to text implicitly could write a secret to the audit log.
    """
    _require_json(document, "$")
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def canonical_mapping(document: Mapping[str, object] | None) -> str:
    """`canonical` of a mapping; None counts as empty."""
    return canonical(dict(document or {}))


def _require_json(value: object, where: str) -> None:
    # Exact types: a subclass of str or int (an enum, a secret wrapper) prints differently from its value.
    if value is None or type(value) in (str, int, bool):
        return
    if type(value) is float:
        if not math.isfinite(value):
            raise TypeError(f"{where} is {value}, which JSON can't express")
    elif type(value) is list:
        for index, item in enumerate(value):
            _require_json(item, f"{where}[{index}]")
    elif type(value) is dict:
        for key, item in value.items():
            if type(key) is not str:
                raise TypeError(f"{where} has a key of type {type(key).__name__}; only str is allowed")
            _require_json(item, f"{where}.{key}")
    else:
        raise TypeError(f"{where} is a {type(value).__name__}; only plain JSON values are allowed")


def instant_text(moment: datetime) -> str:
    """An instant in UTC with microseconds, as text that sorts by time."""
    if moment.tzinfo is None:
        raise ValueError(f"{moment} has no time zone")
    return moment.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def instant(text: str) -> datetime:
    """The reverse of `instant_text`."""
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=timezone.utc)
