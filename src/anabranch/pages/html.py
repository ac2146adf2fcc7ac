"""HTML built from elements, so that a value can't become markup: text is escaped unless it was made here."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from html import escape

from anabranch.runs.canonical import instant_text
from anabranch.runs.printable import printable

_VOID = frozenset({"meta", "br", "rect", "path", "line"})


class Html(str):
    """Markup. Only `tag` and `join` make it, and the page for its own style and script."""

    __slots__ = ()


def tag(name: str, *children: str | None, **attributes: str | float | bool | None) -> Html:
    """An element. In an attribute's name `_` is a hyphen, left out at the end; None and False: no attribute."""
    words = "".join(
        f" {key.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{escape(printable(str(value)))}"')
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    if name in _VOID and not children:
        return Html(f"<{name}{words}>" if name in ("meta", "br") else f"<{name}{words}/>")
    return Html(f"<{name}{words}>{join(children)}</{name}>")


def join(children: Iterable[str | None]) -> Html:
    return Html("".join(_safe(child) for child in children if child is not None))


def _safe(child: str) -> str:
    return child if isinstance(child, Html) else escape(printable(child))


def moment(at: datetime, *, seconds: bool = False) -> Html:
    """A moment in UTC, which the page's script can turn into the reader's own time."""
    return tag("time", at.strftime("%Y-%m-%d %H:%M:%S" if seconds else "%Y-%m-%d %H:%M"), datetime=instant_text(at))
