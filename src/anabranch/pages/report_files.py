"""Writes a report beside its run: the JSON document and the HTML page, each atomically."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from anabranch.pages.validation import render_page
from anabranch.project.atomic_write import atomic_write
from anabranch.validate.report import Report


@dataclass(frozen=True)
class ReportFiles:
    page: Path
    document: Path


def write_report(report: Report, state_folder: Path) -> ReportFiles:
    """Write the report to `runs/<run>/` below the project's state folder, in place of an earlier one."""
    folder = state_folder / "runs" / report.run
    folder.mkdir(parents=True, exist_ok=True)
    written = ReportFiles(folder / "validation.html", folder / "validation.json")
    _write(written.document, json.dumps(report.document(), indent=2, ensure_ascii=False) + "\n")
    _write(written.page, render_page(report))
    return written


def _write(path: Path, text: str) -> None:
    # JSON can carry a lone surrogate and UTF-8 can't: without this the report would not be written.
    atomic_write(path, text.encode("utf-8", "backslashreplace").decode("utf-8"))
