"""The examination: every check in order, each told as it ends, none able to stop the others."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from anabranch.doctor import artifacts, machine
from anabranch.doctor.finding import DoctorFinding, DoctorSubject, from_error, from_surprise, red, yellow
from anabranch.errors import AnabranchError
from anabranch.project.location import ProjectNotFoundError, find_project_folder

if TYPE_CHECKING:
    from anabranch.app.project_context import ProjectContext

Checks = tuple[tuple[DoctorSubject, Callable[[], DoctorFinding]], ...]

OUTSIDE = (DoctorSubject.KAFKA, DoctorSubject.CATALOG, DoctorSubject.DATABASE, DoctorSubject.SPARK)
"""What only a project says where to find."""


def examine(
    project: Path | None = None,
    context: str | None = None,
    *,
    skip: Collection[DoctorSubject] = (),
    starting: Callable[[DoctorSubject], None] = lambda _subject: None,
    met: Callable[[Exception], None] = lambda _error: None,
    unique: str | None = None,
) -> Iterator[DoctorFinding]:
    """Look at the machine, and at the project at or above `project` (or the current folder) if there is one.

    `starting` is told before each look, since some take their time, and `met` of every error that became a finding.
    `unique` names what a look has to make.
    """

    def looks(checks: Checks) -> Iterator[DoctorFinding]:
        for subject, look in checks:
            if subject not in skip:
                starting(subject)
                yield _looked(subject, look, met)

    folder = _folder(project)
    yield from looks(_machine(folder or Path.cwd()))
    if folder is None:
        yield from looks(((DoctorSubject.PROJECT, lambda: _no_project(project)),))
        return
    yield from looks(((DoctorSubject.PROJECT, lambda: _project(folder, context)),))
    try:
        project_context = _open(folder, context)
    except AnabranchError:  # told already, as the finding about the project
        yield from looks(tuple((subject, _not_looked_at(subject)) for subject in OUTSIDE))
        return
    yield from looks(_outside(project_context, unique or uuid4().hex[:12]))


def _looked(
    subject: DoctorSubject, look: Callable[[], DoctorFinding], met: Callable[[Exception], None]
) -> DoctorFinding:
    try:
        return look()
    except Exception as error:
        met(error)
        if isinstance(error, AnabranchError):
            return from_error(subject.value, error)
        return from_surprise(subject.value, error)


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


def _no_project(asked: Path | None) -> DoctorFinding:
    """Nothing wrong where nobody said that there is a project; a mistake where somebody did."""
    if asked is None:
        return yellow("project", "no project here, so only the machine was looked at", "anabranch init DIR")
    return red("project", f"there is no project in {asked} or above it", "name its folder: --project DIR")


def _project(folder: Path, context: str | None) -> DoctorFinding:
    from anabranch.doctor.project import project

    return project(folder, context)


def _open(folder: Path, context: str | None) -> ProjectContext:
    from anabranch.app.project_context import open_project

    return open_project(folder, context)


def _not_looked_at(subject: DoctorSubject) -> Callable[[], DoctorFinding]:
    return lambda: yellow(subject.value, "not looked at: the project can't be loaded", "anabranch check")
