"""Project: all files read and checked as by `anabranch check`."""

from __future__ import annotations

import os
from pathlib import Path

from anabranch.doctor.finding import DoctorFinding, green, red


def project(folder: Path, context: str | None) -> DoctorFinding:
    from anabranch.contract.check import check_project
    from anabranch.project.findings import count_of_problems

    report = check_project(folder, context, os.environ)
    if not report.ok:
        return red("project", f"{count_of_problems(report.findings)}: {report.findings[0]}", "anabranch check")
    kinds = [file.kind for file in report.files]
    has = f"{_many(kinds.count('Pipeline'), 'pipeline')}, {_many(kinds.count('Backfill'), 'contract')}"
    return green("project", f"{report.files[0].name} in context {report.context}: {has}")


def _many(count: int, thing: str) -> str:
    return f"{count} {thing}{'s' * (count != 1)}"
