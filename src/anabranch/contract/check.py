"""Checks every file of a project: which files it has, and every problem in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from anabranch.contract.load import read_contracts, read_pipelines
from anabranch.contract.price_book import KIND, load_price_book
from anabranch.project.findings import BadFilesError, FileProblem
from anabranch.project.load import LoadedProject, load_project
from anabranch.project.location import PROJECT_FILE


@dataclass(frozen=True)
class CheckedFile:
    kind: str
    name: str
    file: str
    ok: bool


@dataclass(frozen=True)
class CheckReport:
    """What `anabranch check` found. `context` is None when the project itself could not be loaded."""

    folder: str
    context: str | None
    files: tuple[CheckedFile, ...]
    findings: tuple[FileProblem, ...]

    @property
    def ok(self) -> bool:
        return not self.findings

    def as_dict(self) -> dict[str, object]:
        return {
            "ok": self.ok,
            "folder": self.folder,
            "context": self.context,
            "files": [asdict(file) for file in self.files],
            "findings": [finding.as_dict() for finding in self.findings],
        }


def check_project(folder: Path, context: str | None, environment: Mapping[str, str]) -> CheckReport:
    """Load everything in the project and connect to nothing."""
    try:
        loaded = load_project(folder, context, environment)
    except BadFilesError as error:
        # The project file names the folders of the pipelines and contracts; without it they can't be found.
        return CheckReport(str(folder), None, (CheckedFile("Project", "", PROJECT_FILE, False),), error.findings)
    return _check_files(loaded)


def _check_files(loaded: LoadedProject) -> CheckReport:
    pipelines, pipeline_findings = read_pipelines(loaded)
    contracts, contract_findings = read_contracts(loaded, {p.name: p for p in pipelines.values()})
    book, price_findings = _check_prices(loaded)
    findings = (*pipeline_findings, *contract_findings, *price_findings)
    bad = {finding.file for finding in findings}
    files = [CheckedFile("Project", loaded.project.metadata.name, PROJECT_FILE, PROJECT_FILE not in bad)]
    files += [CheckedFile("Pipeline", p.name, p.file, p.file not in bad) for p in pipelines.values()]
    files += [CheckedFile("Backfill", c.name, c.file, c.file not in bad) for c in contracts.values()]
    files += book
    seen = {file.file for file in files}
    for kind, problems in (("Pipeline", pipeline_findings), ("Backfill", contract_findings)):
        names = dict.fromkeys(problem.file for problem in problems if problem.file not in seen)
        files += [CheckedFile(kind, "", name, False) for name in names]
    return CheckReport(str(loaded.folder), loaded.context, tuple(files), findings)


def _check_prices(loaded: LoadedProject) -> tuple[list[CheckedFile], tuple[FileProblem, ...]]:
    """The project's own price book, if it names one."""
    file = loaded.project.spec.prices
    if file is None:
        return [], ()
    try:
        book = load_price_book(loaded)
    except BadFilesError as error:
        return [CheckedFile(KIND, "", file, False)], error.findings
    return [CheckedFile(KIND, book.metadata.name, file, True)], ()
