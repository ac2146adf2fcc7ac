"""What a class needs of keys is asked for in the pipeline's file, in words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from tests.unit.plan.world import World, pipeline

SCHEMA = {"order_id": "string", "rate": "double", "ordered_at": "timestamp"}
TARGET = {"table": "shop.orders", "keys": ["order_id"]}
DECLARED = {**TARGET, "schema": {"order_id": "string"}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return World.below(tmp_path_factory.mktemp("keys") / "shop").folder


def made(folder: Path, kind: str, key: str | None, target: dict[str, Any]) -> str:
    source = {"topic": "shop.orders", "schema": SCHEMA, **({} if key is None else {"key": key})}
    try:
        pipeline(folder, **{"class": kind}, source=source, target=target)
    except ValidationError as error:
        return "; ".join(problem.what for each in error.errors() for problem in each["ctx"]["problems"])
    return ""


@pytest.mark.parametrize(
    ("kind", "key", "target"),
    [("upsert", None, TARGET), ("upsert", "order_id", TARGET), ("ordered", "ORDER_ID", DECLARED)],
)
def test_good(folder: Path, kind: str, key: str | None, target: dict[str, Any]) -> None:
    assert made(folder, kind, key, target) == ""


@pytest.mark.parametrize(
    ("kind", "key", "target", "words"),
    [
        ("ordered", None, {"table": "shop.orders"}, "needs target.keys"),
        ("ordered", None, TARGET, "needs the table's columns"),
        ("ordered", None, {**DECLARED, "keys": ["customer"]}, "not in source.schema"),
        ("stateless", "order_id", TARGET, "has no deletions by key"),
        ("upsert", "order_id", {**TARGET, "keys": ["order_id", "rate"]}, "the whole of target.keys"),
        ("upsert", "rate", {**TARGET, "keys": ["rate"]}, "can't hold a record's key"),
        ("upsert", "no such", TARGET, "not a column name"),
    ],
)
def test_bad(folder: Path, kind: str, key: str | None, target: dict[str, Any], words: str) -> None:
    assert words in made(folder, kind, key, target)
