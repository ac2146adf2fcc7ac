"""Loads a project: its file, the selected context, and overrides from the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from anabranch.project.documents import Document, read_document
from anabranch.project.environment import CONTEXT_VARIABLE, EnvironmentOverride, apply_overrides, find_overrides
from anabranch.project.findings import BadFilesError, FileProblem, KeyPath
from anabranch.project.keys import closest
from anabranch.project.location import PROJECT_FILE
from anabranch.project.model import Surroundings
from anabranch.project.project import ContextSettings, Project
from anabranch.project.validation import validate, validate_document


@dataclass(frozen=True)
class LoadedProject:
    """A project in one context. `settings` are the context's, with overrides from the environment."""

    folder: Path
    project: Project
    context: str
    settings: ContextSettings
    document: Document = field(repr=False)
    """The parsed file, for the lines of problems in what it refers to."""

    @property
    def surroundings(self) -> Surroundings:
        return Surroundings(self.folder)


def load_project(
    folder: Path, context: str | None = None, environment: Mapping[str, str] | None = None
) -> LoadedProject:
    """Load the project in `folder`. Precedence: flag (`context`), environment, file, default.

    Opens no connection and reads no secret. Raises BadFilesError with every problem.
    """
    variables = os.environ if environment is None else environment
    folder = folder.resolve()
    document = read_document(folder / PROJECT_FILE, PROJECT_FILE)
    overrides, findings = find_overrides(variables)
    project, wrong = validate_document(document, Project, "Project", Surroundings(folder))
    if project is None or findings:
        raise BadFilesError([*wrong, *findings])
    name = _choose_context(project, context, variables)
    return LoadedProject(folder, project, name, _settings(folder, document, name, overrides), document)


def _choose_context(project: Project, context: str | None, environment: Mapping[str, str]) -> str:
    name = context or environment.get(CONTEXT_VARIABLE) or project.spec.default_context
    if name in project.spec.contexts:
        return name
    place = "--context" if context else CONTEXT_VARIABLE
    known = project.spec.contexts
    write = closest(name, known) or f"one of {', '.join(known)}"
    raise BadFilesError([FileProblem(place, None, "", f"{PROJECT_FILE} has no context {name!r}", write)])


def _settings(folder: Path, document: Document, name: str, overrides: list[EnvironmentOverride]) -> ContextSettings:
    written: Mapping[str, Any] = document.data["spec"]["contexts"][name]

    def place(path: KeyPath) -> tuple[str, int | None]:
        for override in overrides:
            if path[: len(override.path)] == override.path:
                return override.variable, None
        return PROJECT_FILE, document.line(("spec", "contexts", name, *path))

    settings, findings = validate(apply_overrides(written, overrides), ContextSettings, Surroundings(folder), place)
    if settings is None:
        raise BadFilesError(findings)
    return settings
