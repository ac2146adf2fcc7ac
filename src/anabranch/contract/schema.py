"""The JSON Schema of the project's files, for editors."""

from __future__ import annotations

from typing import Any

from anabranch.contract.backfill import Backfill
from anabranch.contract.pipeline import Pipeline
from anabranch.contract.price_book import PriceBook
from anabranch.project.model import Envelope
from anabranch.project.project import Project

DIALECT = "https://json-schema.org/draft/2020-12/schema"
KINDS: dict[str, type[Envelope]] = {
    "project": Project,
    "pipeline": Pipeline,
    "backfill": Backfill,
    "prices": PriceBook,
}


def schema_of(kind: str) -> dict[str, Any]:
    """The schema of one kind of file."""
    schema: dict[str, Any] = _without_null(KINDS[kind].model_json_schema(by_alias=True))
    return {"$schema": DIALECT, **schema}


def schema_of_all() -> dict[str, Any]:
    """One schema for any file of a project: its `kind` says which part applies."""
    definitions: dict[str, Any] = {}
    for model in KINDS.values():
        schema = _without_null(model.model_json_schema(by_alias=True))
        definitions.update(schema.pop("$defs", {}))
        definitions[model.__name__] = schema
    return {
        "$schema": DIALECT,
        "title": "Anabranch",
        "description": "A file of an Anabranch project.",
        "oneOf": [{"$ref": f"#/$defs/{model.__name__}"} for model in KINDS.values()],
        "$defs": definitions,
    }


def _without_null(node: Any) -> Any:
    """The schema without null for omitted keys: a key that is present must have a value."""
    if isinstance(node, list):
        return [_without_null(item) for item in node]
    if not isinstance(node, dict):
        return node
    node = {key: _without_null(value) for key, value in node.items() if not (key == "default" and value is None)}
    if "anyOf" in node:
        sides = [side for side in node["anyOf"] if side.get("type") != "null"]
        if len(sides) == 1:
            del node["anyOf"]
            node = {**sides[0], **node}
        else:
            node["anyOf"] = sides
    return node
