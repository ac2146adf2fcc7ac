"""Validates a document against a model, and turns pydantic's errors into problems with file, line and correction."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from anabranch.project.documents import Document
from anabranch.project.findings import FileProblem, KeyPath, dotted
from anabranch.project.keys import closest, example, known_keys
from anabranch.project.model import API_VERSION, Surroundings
from anabranch.project.refusals import REFUSED, Problem
from anabranch.project.urls import PASSWORD_IN_URL, WITHOUT_PASSWORD, holds_password

Model = TypeVar("Model", bound=BaseModel)
Place = Callable[[KeyPath], tuple[str, int | None]]
"""The place of a key path: a file and line, or an environment variable."""

_TYPES = {
    "string_type": "this must be text (put it in quotes)",
    "int_type": "this must be a whole number",
    "float_type": "this must be a number",
    "bool_type": "this must be true or false",
    "dict_type": "this must be a mapping",
    "mapping_type": "this must be a mapping",
    "model_type": "this must be a mapping",
    "model_attributes_type": "this must be a mapping",
    "list_type": "this must be a list",
    "tuple_type": "this must be a list",
}


def validate_document(
    document: Document, model: type[Model], kind: str, around: Surroundings
) -> tuple[Model | None, list[FileProblem]]:
    """The model, or every problem of the document."""

    def place(path: KeyPath) -> tuple[str, int | None]:
        return document.file, document.line(path)

    envelope = _envelope_problems(document.data, kind)
    if envelope:
        return None, _findings(envelope, place)
    return validate(document.data, model, around, place)


def validate(
    data: Mapping[str, Any], model: type[Model], around: Surroundings, place: Place
) -> tuple[Model | None, list[FileProblem]]:
    """The model, or a problem for every invalid key. A problem never repeats a value."""
    problems = list(_problems_of_any_value(data, ()))
    try:
        value = model.model_validate(data, context=around)
    except ValidationError as error:
        for detail in error.errors(include_url=False, include_input=False):
            problems.extend(_problems(detail, model))
    else:
        if not problems:
            return value, []
    return None, _findings(problems, place)


def _findings(problems: list[Problem], place: Place) -> list[FileProblem]:
    """The problems with their places, in the order of the file."""
    refused = {problem.at for problem in problems if problem.what in (NO_VALUE, PASSWORD_IN_URL)}
    findings: dict[FileProblem, None] = {}
    for problem in problems:
        # Further problems of a key without a value follow from that one.
        if problem.at not in refused or problem.what in (NO_VALUE, PASSWORD_IN_URL):
            findings[FileProblem(*place(problem.at), dotted(problem.at), problem.what, problem.write)] = None
    return sorted(findings, key=lambda finding: (finding.file, finding.line or 0))


NO_VALUE = "this key has no value"


def _problems_of_any_value(value: object, path: KeyPath) -> Iterator[Problem]:
    """Problems at any key: no value, and an address with a password."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _problems_of_any_value(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _problems_of_any_value(item, (*path, index))
    elif value is None:
        yield Problem(NO_VALUE, "a value, or remove the key", path)
    elif isinstance(value, str) and holds_password(value):
        yield Problem(PASSWORD_IN_URL, WITHOUT_PASSWORD, path)


def _envelope_problems(data: Mapping[str, Any], kind: str) -> list[Problem]:
    """Wrong kind or version of the file. Other problems are not reported then, since they would follow from it."""
    problems = []
    if data.get("apiVersion") != API_VERSION:
        problems.append(
            Problem(
                "this version does not support the file's apiVersion", f"apiVersion: {API_VERSION}", ("apiVersion",)
            )
        )
    if data.get("kind") != kind:
        problems.append(Problem(f"this file must be a {kind}", f"kind: {kind}", ("kind",)))
    return problems


def _problems(detail: ErrorDetails, model: type[BaseModel]) -> list[Problem]:
    path = tuple(step for step in detail["loc"] if step != "[key]")
    kind, context = detail["type"], detail.get("ctx", {})
    if kind == REFUSED:
        return [Problem(p.what, p.write, (*path, *p.at)) for p in context["problems"]]
    if kind == "extra_forbidden":
        return [_unknown_key(path, model)]
    if kind == "missing":
        return [Problem(f'the key "{path[-1]}" is missing', example(model, path), path)]
    if kind in ("literal_error", "enum"):
        return [Problem(f"this must be {context['expected']}", example(model, path), path)]
    what = _TYPES.get(kind) or _lower_first(detail["msg"])
    return [Problem(what, example(model, path), path)]


def _unknown_key(path: KeyPath, model: type[BaseModel]) -> Problem:
    known = known_keys(model, path[:-1])
    meant = closest(str(path[-1]), known)
    write = f'"{meant}"' if meant else f"one of {', '.join(known)}" if known else "nothing: remove this key"
    return Problem(f'unknown key "{path[-1]}"', write, path)


def _lower_first(message: str) -> str:
    return message[:1].lower() + message[1:]
