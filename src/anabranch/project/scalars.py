"""What a plain word in a file means: a number, true or false, nothing, or text. Few rules, so few surprises."""

from __future__ import annotations

import math
import re

Scalar = str | int | float | bool | None

# The core rules of YAML 1.2 without its rarer spellings: `yes` and `no` stay text, and so do times, octal numbers
# and numbers too long to be meant as numbers. A field that wants a number then says so instead of guessing.
_WHOLE = re.compile(r"[-+]?(0|[1-9][0-9]{0,18})")  # snapshots of a table have 19 digits
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
    """The value of an unquoted word."""
    if text in _WORDS:
        return _WORDS[text]
    if _WHOLE.fullmatch(text):
        return int(text)
    # A leading zero (`007`) is a label far more often than a number.
    if _DECIMAL.fullmatch(text) and not re.match(r"[-+]?0[0-9]", text) and math.isfinite(float(text)):
        return float(text)
    return text
