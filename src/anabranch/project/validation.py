"""From a document to a model, and from pydantic's errors to findings with file, line and what to write."""

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
"""Where a key path was written: a file and a line, or a variable of the environment."""

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
    """The model, or everything that is wrong with the document."""

    def place(path: KeyPath) -> tuple[str, int | None]:
        return document.file, document.line(path)

    envelope = _envelope_problems(document.data, kind)
    if envelope:
        return None, _findings(envelope, place)
    return validate(document.data, model, around, place)


def validate(
    data: Mapping[str, Any], model: type[Model], around: Surroundings, place: Place
) -> tuple[Model | None, list[FileProblem]]:
    """The model, or a finding for every key at fault. Nothing written in the data is repeated in a finding."""
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
    """The problems where they were written, in the order of the file."""
    refused = {problem.at for problem in problems if problem.what in (NO_VALUE, PASSWORD_IN_URL)}
    findings: dict[FileProblem, None] = {}
    for problem in problems:
        # What else is said about a key without a value would only be an echo.
        if problem.at not in refused or problem.what in (NO_VALUE, PASSWORD_IN_URL):
            findings[FileProblem(*place(problem.at), dotted(problem.at), problem.what, problem.write)] = None
    return sorted(findings, key=lambda finding: (finding.file, finding.line or 0))


NO_VALUE = "this key has no value"


def _problems_of_any_value(value: object, path: KeyPath) -> Iterator[Problem]:
    """What is refused anywhere: a key left empty, and an address with a password inside."""
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
    """A file of another kind or version is told so, and nothing else, since nothing else would make sense."""
    problems = []
    if data.get("apiVersion") != API_VERSION:
        problems.append(
            Problem("the file's format is not one this version knows", f"apiVersion: {API_VERSION}", ("apiVersion",))
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
    words = _TYPES.get(kind) or _lower_first(detail["msg"])
    return [Problem(words, example(model, path), path)]


def _unknown_key(path: KeyPath, model: type[BaseModel]) -> Problem:
    known = known_keys(model, path[:-1])
    meant = closest(str(path[-1]), known)
    write = f'"{meant}"' if meant else f"one of {', '.join(known)}" if known else "nothing: remove this key"
    return Problem(f'unknown key "{path[-1]}"', write, path)


def _lower_first(message: str) -> str:
    return message[:1].lower() + message[1:]
