"""Makes text from data safe to print: control and formatting characters are shown as escapes."""

from __future__ import annotations

import unicodedata

_CONTROL = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")
"""Unicode categories: controls, formatting (text direction, invisible joins), surrogates, private use, breaks."""
_ALLOWED = "\n\t"


def printable(text: str) -> str:
    """The text with every control or formatting character replaced by its escape."""
    return "".join(_escaped(c) if unicodedata.category(c) in _CONTROL and c not in _ALLOWED else c for c in text)


def _escaped(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
