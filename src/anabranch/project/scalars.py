"""Interprets an unquoted scalar: a number, a boolean, null or text."""

from __future__ import annotations

import math
import re

Scalar = str | int | float | bool | None

# The core schema of YAML 1.2 without its rarer forms: `yes`, `no`, times, octal numbers and numbers that are too long
# stay text, and a field that needs a number reports it.
_WHOLE = re.compile(r"[-+]?(0|[1-9][0-9]{0,18})")  # snapshot ids have up to 19 digits
_DECIMAL = re.compile(r"[-+]?[0-9]{1,15}(\.[0-9]{1,15})?([eE][-+]?[0-9]{1,3})?")
_WORDS: dict[str, bool | None] = {
    "": None,
    "~": None,
    "null": None,
    "Null": None,
    "NULL": None,
    "true": True,
    "True": True,
    "TRUE": True,
    "false": False,
    "False": False,
    "FALSE": False,
}


def plain_scalar(text: str) -> Scalar:
    """The value of an unquoted scalar."""
    if text in _WORDS:
        return _WORDS[text]
    if _WHOLE.fullmatch(text):
        return int(text)
    # With a leading zero (`007`) it is more likely a label than a number.
    if _DECIMAL.fullmatch(text) and not re.match(r"[-+]?0[0-9]", text) and math.isfinite(float(text)):
        return float(text)
    return text
