"""The keys that a model allows at a key path, and an example value, from its JSON Schema."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from pydantic import BaseModel

from anabranch.project.findings import KeyPath


@lru_cache(maxsize=16)
def _schema(model: type[BaseModel]) -> dict[str, Any]:
    return model.model_json_schema(by_alias=True)


def known_keys(model: type[BaseModel], path: KeyPath) -> tuple[str, ...]:
    """The keys allowed in the mapping at `path`; empty if it is not a mapping with fixed keys."""
    return tuple(_node(model, path).get("properties", {}))


def example(model: type[BaseModel], path: KeyPath) -> str:
    """An example for `path`: `topic: shop.orders`."""
    node = _node(model, path, resolve_last=False)
    key = next((step for step in reversed(path) if isinstance(step, str)), "")
    options = node.get("enum") or ([node["const"]] if "const" in node else None) or node.get("examples")
    if options is None:
        options = [node["default"]] if node.get("default") not in (None, {}, []) else ["…"]
    value = options[0] if isinstance(options[0], str) else json.dumps(options[0])
    return f"{key}: {value}" if path and isinstance(path[-1], str) else str(value)


def closest(word: str, known: Iterable[str]) -> str | None:
    """The known word most similar to this one; None if none is similar enough."""
    candidates = {candidate.lower(): candidate for candidate in known}
    matches = difflib.get_close_matches(word.lower(), list(candidates), n=1, cutoff=0.6)
    return candidates[matches[0]] if matches else None


def _node(model: type[BaseModel], path: Sequence[str | int], *, resolve_last: bool = True) -> dict[str, Any]:
    root = _schema(model)
    node: dict[str, Any] = root
    for step in path:
        node = _resolve(root, node)
        if isinstance(step, int):
            node = node.get("items", {})
        else:
            properties = node.get("properties", {})
            anything = [*node.get("patternProperties", {}).values(), node.get("additionalProperties"), {}]
            node = properties[step] if step in properties else next(side for side in anything if isinstance(side, dict))
    return _resolve(root, node) if resolve_last else {**_resolve(root, node), **node}


def _resolve(root: dict[str, Any], node: dict[str, Any]) -> dict[str, Any]:
    """Follow `$ref` and the first alternative of `anyOf` that is not null."""
    while True:
        if "$ref" in node:
            node = root["$defs"][node["$ref"].rsplit("/", 1)[1]]
        elif "anyOf" in node:
            node = next((side for side in node["anyOf"] if side.get("type") != "null"), {})
        else:
            return node
