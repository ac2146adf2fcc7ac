"""A runbook drawn twice from one book: nothing in it becomes markup, and the page loads and runs nothing."""

from __future__ import annotations

import re

import pytest
from tests.unit.validate.test_page import HOSTILE, Elements

from anabranch.pages.runbook.document import Code, FactList, Grid, MissingPart, Paragraph, Runbook, Section
from anabranch.pages.runbook.markdown import render_markdown
from anabranch.pages.runbook.page import render_page


def book(text: str) -> Runbook:
    blocks = (
        Paragraph(text),
        FactList(((text, text), ("code", Code(text)))),
        Grid(("a", "b"), ((text, Code(text)),)),
        MissingPart(Code(text)),
    )
    return Runbook(text, text, text, False, (Section("What, and who", blocks),), text)


@pytest.mark.parametrize("text", HOSTILE)
def test_the_page_shows_what_others_wrote_as_text(text: str) -> None:
    page = Elements(render_page(book(text)))
    plain = Elements(render_page(book("plain")))
    assert page.open == []
    assert [name for name, _ in page.found] == [name for name, _ in plain.found]
    assert not any(name == "script" for name, _ in page.found)
    assert not any(key in ("src", "style") or key.startswith("on") for _, each in page.found for key in each)


def test_every_link_leads_to_a_place_on_the_page() -> None:
    found = Elements(render_page(book("plain"))).found
    links = {str(each["href"]) for name, each in found if name == "a"}
    assert links == {f"#{each['id']}" for name, each in found if name == "h2"}


@pytest.mark.parametrize("text", [*HOSTILE, "a | b", "a\n# b", "*a* _b_ `c` [d](e)", "``a`"])
def test_markdown_keeps_its_shape_whatever_others_wrote(text: str) -> None:
    lines, plain = (render_markdown(book(each)).splitlines() for each in (text, "plain"))
    assert len(lines) == len(plain)
    table = [line for line in lines if line.startswith("|")]
    assert [len(re.findall(r"(?<!\\)\|", line)) for line in table] == [3, 3, 3]
    outside_code = re.sub(r"(`+).*?(?<!`)\1(?!`)", "", lines[4])
    assert not re.search(r"(?<!\\)[<*_\[`]", outside_code)
