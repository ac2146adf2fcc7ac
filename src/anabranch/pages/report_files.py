"""Keeps a report beside its run: the JSON document and the HTML page, each there whole or not at all."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from anabranch.pages.validation import render_page
from anabranch.project.atomic_write import atomic_write
from anabranch.validate.report import Report


@dataclass(frozen=True)
class Kept:
    page: Path
    document: Path


def keep(report: Report, state_folder: Path) -> Kept:
    """Write the report to `runs/<run>/` below the project's state folder, in place of an earlier one."""
    folder = state_folder / "runs" / report.run
    folder.mkdir(parents=True, exist_ok=True)
    kept = Kept(folder / "validation.html", folder / "validation.json")
    _write(kept.document, json.dumps(report.document(), indent=2, ensure_ascii=False) + "\n")
    _write(kept.page, render_page(report))
    return kept


def _write(path: Path, text: str) -> None:
    # A lone surrogate, which JSON can carry and UTF-8 can't, must not cost us the report.
    atomic_write(path, text.encode("utf-8", "backslashreplace").decode("utf-8"))
