"""One spelling for JSON and for instants, so that what is hashed today hashes the same for ever."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import datetime, timezone


def canonical(document: object) -> str:
    """JSON with sorted keys, no spaces and ASCII only. Anything but plain JSON values is refused.

    The refusal is a TypeError, a fault of the caller: an object that turned itself into text on the way into
    the audit log could carry what was never meant to be written down.
    """
    _refuse_all_but_json(document, "$")
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def canonical_mapping(document: Mapping[str, object] | None) -> str:
    """`canonical` of a mapping; none given is the empty one."""
    return canonical(dict(document or {}))


def _refuse_all_but_json(value: object, where: str) -> None:
    # Exact types: a str or int subclass (an enum, a secret wrapper) prints differently from what it holds.
    if value is None or type(value) in (str, int, bool):
        return
    if type(value) is float:
        if not math.isfinite(value):
            raise TypeError(f"{where} is {value}, which JSON can't express")
    elif type(value) is list:
        for index, item in enumerate(value):
            _refuse_all_but_json(item, f"{where}[{index}]")
    elif type(value) is dict:
        for key, item in value.items():
            if type(key) is not str:
                raise TypeError(f"{where} has a key of type {type(key).__name__}; only str is allowed")
            _refuse_all_but_json(item, f"{where}.{key}")
    else:
        raise TypeError(f"{where} is a {type(value).__name__}; only plain JSON values are allowed")


def instant_text(moment: datetime) -> str:
    """An instant in UTC, to the microsecond, in text that sorts as time does."""
    if moment.tzinfo is None:
        raise ValueError(f"{moment} has no time zone")
    return moment.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def instant(text: str) -> datetime:
    """The reverse of `instant_text`."""
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=timezone.utc)
