"""A runbook as one self-contained HTML page: it runs no script and loads nothing, so that it opens anywhere."""

from __future__ import annotations

from pathlib import Path

from typing_extensions import assert_never

from anabranch.pages import html
from anabranch.pages.html import Html, tag
from anabranch.pages.runbook.document import Block, Code, FactList, Grid, MissingPart, Paragraph, Runbook, Section, Text
from anabranch.pages.validation_tables import table

_STYLE = Path(html.__file__).with_name("page.css")
_OWN_STYLE = """
td { min-width: 5rem; }
td code { white-space: nowrap; }
.scroll + .scroll { margin-top: .75rem; }
.verdict.unsettled { background: var(--warn-paper); border-color: var(--warn); }
nav { font-size: .9rem; margin: .5rem 0 0; }
nav a { display: inline-block; color: var(--soft); margin-right: .9rem; }
.missing { color: var(--warn); }
@media print { nav { display: none; } .scroll { overflow: visible; } td code { white-space: normal; } }
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'"


def render_page(book: Runbook) -> str:
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        tag("meta", name_="viewport", content="width=device-width, initial-scale=1"),
        tag("title", f"{book.title}: {book.state}"),
        tag("style", Html(_STYLE.read_text(encoding="utf-8") + _OWN_STYLE)),
    )
    body = tag(
        "body", tag("main", _header(book), *(_section(each) for each in book.sections)), tag("footer", book.footer)
    )
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"


def _header(book: Runbook) -> Html:
    kind = "accepted" if book.settled else "unsettled"
    return tag(
        "header",
        tag("h1", book.title),
        tag("div", tag("strong", book.state.capitalize()), book.production, class_=f"verdict {kind}"),
        tag("nav", *(tag("a", each.title, href=f"#{_anchor(each)}") for each in book.sections)),
    )


def _section(section: Section) -> Html:
    blocks = (_block(block) for block in section.blocks)
    return tag("section", tag("h2", section.title, id=_anchor(section)), *blocks)


def _anchor(section: Section) -> str:
    return section.title.lower().replace(",", "").replace(" ", "-")


def _block(block: Block) -> Html:
    match block:
        case Paragraph(text):
            return tag("p", text)
        case FactList(pairs):
            told = (part for name, value in pairs for part in (tag("dt", name), tag("dd", _text(value))))
            return tag("dl", *told, class_="facts")
        case Grid(headings, rows):
            return table(headings, [tag("tr", *(tag("td", _text(cell)) for cell in row)) for row in rows])
        case MissingPart(command):
            return tag("p", "Not measured yet: ", _text(command), class_="missing")
        case _:
            assert_never(block)


def _text(text: Text) -> str:
    return tag("code", str(text)) if isinstance(text, Code) else text
