"""A runbook as one self-contained HTML page: it runs no script and loads nothing, so that it opens anywhere."""

from __future__ import annotations

from anabranch.pages.environment import render
from anabranch.pages.runbook.document import Runbook


def render_page(book: Runbook) -> str:
    return render("runbook.html", book=book)
