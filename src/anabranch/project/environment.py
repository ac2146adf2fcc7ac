"""Environment variables that override keys of a context, such as ANABRANCH_KAFKA__BOOTSTRAP."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic.alias_generators import to_camel

from anabranch.project.findings import FileProblem, KeyPath
from anabranch.project.keys import closest, known_keys
from anabranch.project.project import ContextSettings
from anabranch.project.scalars import plain_scalar

PREFIX = "ANABRANCH_"
CONTEXT_VARIABLE = "ANABRANCH_CONTEXT"
RESERVED = frozenset({"ANABRANCH_DEBUG", "ANABRANCH_CACHE", CONTEXT_VARIABLE, "ANABRANCH_PROJECT"})
SECTIONS = tuple(to_camel(name) for name in ContextSettings.model_fields)
FILE_ONLY = frozenset({"approval", "gates", "hooks", "replayBudget", "roles", "veto"})
"""Sections that only the file can set, so that a change to what protects production shows in version control."""


@dataclass(frozen=True)
class EnvironmentOverride:
    """One variable, the key path in the context that it overrides, and its value."""

    variable: str
    path: tuple[str, ...]
    value: Any


def find_overrides(environment: Mapping[str, str]) -> tuple[list[EnvironmentOverride], list[FileProblem]]:
    """The overrides in the environment, and a problem for each variable that looks like one and matches no key."""
    overrides: list[EnvironmentOverride] = []
    findings: list[FileProblem] = []
    for variable in sorted(environment):
        if not variable.startswith(PREFIX) or variable in RESERVED or not _looks_like_override(variable):
            continue
        path = tuple(to_camel(part.lower()) for part in variable.removeprefix(PREFIX).split("__"))
        finding = _refused(variable, path)
        if finding is not None:
            findings.append(finding)
        else:
            overrides.append(EnvironmentOverride(variable, path, plain_scalar(environment[variable])))
    return overrides, findings


def apply_overrides(settings: Mapping[str, Any], overrides: list[EnvironmentOverride]) -> dict[str, Any]:
    """A copy of the context's data with the overrides applied."""
    result = dict(settings)
    for override in overrides:
        level = result
        for step in override.path[:-1]:
            below = level.get(step)
            level[step] = dict(below) if isinstance(below, Mapping) else {}
            level = level[step]
        level[override.path[-1]] = override.value
    return result


def _looks_like_override(variable: str) -> bool:
    """Whether the name has a double underscore or starts with the name of a section."""
    rest = variable.removeprefix(PREFIX)
    return "__" in rest or rest.split("_")[0].lower() in SECTIONS


def _refused(variable: str, path: KeyPath) -> FileProblem | None:
    if path[0] in FILE_ONLY:
        write = f"{path[0]} in the file: spec.contexts.<name>.{path[0]}"
        return FileProblem(variable, None, "", f"{path[0]} can't be set by an environment variable", write)
    variables = {_variable(keys): None for keys in _settable()}
    if variable in variables:
        return None
    meant = closest(variable, variables)
    write = meant or f"a section ({', '.join(SECTIONS)}) and a key, such as ANABRANCH_KAFKA__BOOTSTRAP"
    if len(path) > 1 and path[1] == "options":
        write = f"options in the file: spec.contexts.<name>.{path[0]}.options"
    return FileProblem(variable, None, "", "this environment variable matches no key of a context", write)


def _settable() -> list[tuple[str, ...]]:
    """Every key path of a context that holds a single value."""
    return [path for section in SECTIONS if section not in FILE_ONLY for path in _leaves((section,))]


def _leaves(path: tuple[str, ...]) -> list[tuple[str, ...]]:
    below = known_keys(ContextSettings, path)
    if not below:
        return [] if path[-1] == "options" else [path]
    return [leaf for key in below for leaf in _leaves((*path, key))]


def _variable(path: tuple[str, ...]) -> str:
    words = ("".join(f"_{c}" if c.isupper() else c for c in step).upper() for step in path)
    return PREFIX + "__".join(words)
