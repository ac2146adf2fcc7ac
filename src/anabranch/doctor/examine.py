"""Runs all checks in order and yields each finding; a failed check does not prevent the others."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from anabranch.doctor import artifacts, machine
from anabranch.doctor.finding import DoctorFinding, DoctorSubject, from_error, from_unexpected, red, yellow
from anabranch.errors import AnabranchError
from anabranch.project.location import ProjectNotFoundError, find_project_folder

if TYPE_CHECKING:
    from anabranch.app.project_context import ProjectContext

Checks = tuple[tuple[DoctorSubject, Callable[[], DoctorFinding]], ...]

OUTSIDE = (DoctorSubject.KAFKA, DoctorSubject.CATALOG, DoctorSubject.DATABASE, DoctorSubject.SPARK)
"""Subjects whose location is configured in the project."""


def examine(
    project: Path | None = None,
    context: str | None = None,
    *,
    skip: Collection[DoctorSubject] = (),
    starting: Callable[[DoctorSubject], None] = lambda _subject: None,
    met: Callable[[Exception], None] = lambda _error: None,
    unique: str | None = None,
) -> Iterator[DoctorFinding]:
    """Check the machine, and the project in or above `project` (or the current folder) if there is one.

    `starting` is called before each check, and `met` for every error that became a finding. `unique` is part of the
    names of scratch resources.
    """

    def findings(checks: Checks) -> Iterator[DoctorFinding]:
        for subject, check in checks:
            if subject not in skip:
                starting(subject)
                yield _checked(subject, check, met)

    folder = _folder(project)
    yield from findings(_machine(folder or Path.cwd()))
    if folder is None:
        yield from findings(((DoctorSubject.PROJECT, lambda: _no_project(project)),))
        return
    yield from findings(((DoctorSubject.PROJECT, lambda: _project(folder, context)),))
    try:
        project_context = _open(folder, context)
    except AnabranchError:  # already reported as the finding of the project
        yield from findings(tuple((subject, _skipped(subject)) for subject in OUTSIDE))
        return
    yield from findings(_outside(project_context, unique or uuid4().hex[:12]))


def _checked(
    subject: DoctorSubject, check: Callable[[], DoctorFinding], met: Callable[[Exception], None]
) -> DoctorFinding:
    try:
        return check()
    except Exception as error:
        met(error)
        if isinstance(error, AnabranchError):
            return from_error(subject.value, error)
        return from_unexpected(subject.value, error)


def _machine(folder: Path) -> Checks:
    return (
        (DoctorSubject.PYTHON, machine.python),
        (DoctorSubject.JAVA, machine.java),
        (DoctorSubject.MEMORY, machine.memory),
        (DoctorSubject.DISK, lambda: machine.disk(folder)),
        (DoctorSubject.JARS, artifacts.artifacts),
    )


def _outside(project_context: ProjectContext, unique: str) -> Checks:
    from anabranch.doctor import catalog, database, kafka, spark

    return (
        (DoctorSubject.KAFKA, lambda: kafka.kafka(project_context)),
        (DoctorSubject.CATALOG, lambda: catalog.catalog(project_context, unique)),
        (DoctorSubject.DATABASE, lambda: database.database(project_context)),
        (DoctorSubject.SPARK, lambda: spark.spark(project_context)),
    )


def _folder(project: Path | None) -> Path | None:
    try:
        return find_project_folder(project or Path.cwd())
    except ProjectNotFoundError:
        return None


def _no_project(requested: Path | None) -> DoctorFinding:
    """Yellow without a project; red if a folder was given that has none."""
    if requested is None:
        return yellow("project", "no project in this folder; checked only the machine", "anabranch init DIR")
    return red("project", f"no project in {requested} or above it", "pass its folder: --project DIR")


def _project(folder: Path, context: str | None) -> DoctorFinding:
    from anabranch.doctor.project import project

    return project(folder, context)


def _open(folder: Path, context: str | None) -> ProjectContext:
    from anabranch.app.project_context import open_project

    return open_project(folder, context)


def _skipped(subject: DoctorSubject) -> Callable[[], DoctorFinding]:
    return lambda: yellow(subject.value, "not checked: the project could not be loaded", "anabranch check")
