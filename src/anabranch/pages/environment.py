"""Jinja2 templates with autoescape on, so that a value can't become markup.

Jinja2 is imported when the first page is rendered: a command without a page starts faster.
"""

from __future__ import annotations

from datetime import datetime
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from anabranch.pages.runbook.document import Code
from anabranch.runs.canonical import instant_text
from anabranch.runs.printable import printable
from anabranch.validate.result import counted

if TYPE_CHECKING:
    from jinja2 import Environment


def render(template: str, **values: object) -> str:
    """A page of `templates/`. Raises if the template uses a value that it was not given."""
    return environment().get_template(template).render(values)


def source(name: str) -> str:
    """A style sheet or script of `templates/`, as it is."""
    return (files("anabranch.pages") / "templates" / name).read_text(encoding="utf-8")


@cache
def environment() -> Environment:
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    made = Environment(
        loader=FunctionLoader(source),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_spelt_out,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(
        count=lambda number: f"{number:,}",
        signed=lambda number: f"{number:+,}" if number else "0",
        coordinate=lambda number: f"{number:.2f}",
        instant=instant_text,
        minute=lambda at: _text(at, "%Y-%m-%d %H:%M"),
        second=lambda at: _text(at, "%Y-%m-%d %H:%M:%S"),
    )
    made.globals.update(counted=counted)
    made.tests.update(code=lambda value: isinstance(value, Code))
    return made


def _spelt_out(value: object) -> object:
    """Applied to each value before it is escaped. Markup, which only a macro makes, passes."""
    return printable(value) if isinstance(value, str) and not hasattr(value, "__html__") else value


def _text(at: datetime, form: str) -> str:
    return at.strftime(form)
