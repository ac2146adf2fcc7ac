"""Text from data made safe to show: what would steer a terminal or turn the reading order is spelt out instead."""

from __future__ import annotations

import unicodedata

_STEERING = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")
"""Unicode categories: controls, formatting (turned reading order, invisible joins), surrogates, private use, breaks."""
_HARMLESS = "\n\t"


def printable(text: str) -> str:
    """The text with every steering character written as its code."""
    return "".join(_spelt(c) if unicodedata.category(c) in _STEERING and c not in _HARMLESS else c for c in text)


def _spelt(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
