"""Everything of a pipeline that can change rows or a verdict is pinned: each field of its model, new ones too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import BaseModel

from anabranch.contract.backfill import Backfill
from anabranch.contract.code import code_digest
from anabranch.contract.pins import NOT_PINNED, declared, digest_files, pin_files
from anabranch.contract.pipeline import Pipeline, PipelineSpec
from anabranch.project.model import Surroundings

TRANSFORM = "def transform(events):\n    return events\n"
STATELESS: dict[str, Any] = {
    "class": "stateless",
    "owner": "shop",
    "source": {"topic": "orders", "format": "json", "schema": {"id": "string", "at": "timestamp"}},
    "eventTime": {"field": "at", "format": "iso8601", "slack": "1h"},
    "transform": {"python": "transforms.orders:transform", "allow": ["current_timestamp"]},
    "target": {"table": "shop.orders", "keys": ["id"], "schema": {"id": "string"}, "partitionBy": "day"},
    "lookups": {"rates": "shop.rates"},
    "consumerGroup": "orders",
    "live": {"maxLagRecords": 5, "maxLatency": "2m"},
    "state": {"every": "1d", "keep": "30d"},
    "quarantine": {"maxRecords": 7},
    "effects": "none",
    "residency": "eu",
}
UPSERT = {**STATELESS, "class": "upsert", "source": {**STATELESS["source"], "key": "id"}}
BY_SQL = {**STATELESS, "transform": {"sql": "transforms/orders.sql"}}
FIXED = {"kind": "sliding", "size": "1h", "slide": "10m", "lateness": "5m"}
WINDOWED = {**STATELESS, "class": "windowed", "window": FIXED}
SESSIONS = {**WINDOWED, "window": {"kind": "session", "gap": "10m", "lateness": "5m", "longest": "4h"}}
SAMPLES = (STATELESS, UPSERT, BY_SQL, WINDOWED, SESSIONS)
"""Between them they set every field. A new field of the model has to be set in one of them."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "transforms").mkdir()
    (tmp_path / "transforms" / "orders.py").write_text(TRANSFORM)
    (tmp_path / "transforms" / "orders.sql").write_text("SELECT * FROM events")
    return tmp_path


def pipeline(folder: Path, spec: Mapping[str, Any]) -> Pipeline:
    document = {"apiVersion": "anabranch/v1", "kind": "Pipeline", "metadata": {"name": "orders"}, "spec": spec}
    return Pipeline.model_validate(document, context=Surroundings(folder))


def paths(model: type[BaseModel], above: str = "") -> Iterator[str]:
    """Every field of the model and of the models in it, by its path in the file."""
    for name, field in model.model_fields.items():
        kinds = [field.annotation, *get_args(field.annotation)]
        inner = next((kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)), None)
        path = f"{above}{field.alias or name}"
        yield from [path] if inner is None else paths(inner, f"{path}.")


def test_every_field_of_the_model_is_pinned_or_named_as_one_that_changes_nothing(folder: Path) -> None:
    pinned = {path for sample in SAMPLES for path in declared(pipeline(folder, sample))}
    assert pinned | NOT_PINNED.keys() == set(paths(PipelineSpec))
    assert not pinned & NOT_PINNED.keys()


def test_a_pin_has_the_order_of_columns_and_names_the_field(folder: Path) -> None:
    turned = {**STATELESS, "source": {**STATELESS["source"], "schema": {"at": "timestamp", "id": "string"}}}
    was, now = declared(pipeline(folder, STATELESS)), declared(pipeline(folder, turned))
    assert {path for path in was if was[path] != now[path]} == {"source.schema"}
    assert was["target.keys"] == '["id"]'


@pytest.mark.parametrize(
    "changed",
    [
        {"class": "upsert"},
        {"target": {"table": "shop.orders", "keys": ["at"]}},
        {"class": "upsert", "source": {**STATELESS["source"], "key": "id"}},
    ],
    ids=["class", "keys", "key"],
)
def test_how_rows_are_merged_is_part_of_the_code(folder: Path, changed: dict[str, Any]) -> None:
    other = pipeline(folder, {**STATELESS, **changed})
    assert code_digest(folder, pipeline(folder, STATELESS)) != code_digest(folder, other)


def test_data_beside_the_transform_is_part_of_the_code_and_bytecode_is_not(folder: Path) -> None:
    orders = pipeline(folder, STATELESS)
    was = code_digest(folder, orders)
    (folder / "transforms" / "__pycache__").mkdir()
    (folder / "transforms" / "__pycache__" / "orders.cpython-311.pyc").write_bytes(b"x")
    (folder / "transforms" / ".orders.py.swp").write_bytes(b"x")
    assert code_digest(folder, orders) == was
    (folder / "transforms" / "rates.json").write_text("{}")
    assert code_digest(folder, orders) != was


def test_the_contents_of_checks_and_known_records_are_pinned(folder: Path) -> None:
    (folder / "a.sql").write_text("SELECT 1 FROM staged")
    (folder / "known.jsonl").write_text("{}\n")
    spec: dict[str, Any] = {
        "pipeline": "orders",
        "range": {"everything": True},
        "reason": "wrong",
        "owner": "shop",
        "validation": {"queries": {"a": {"file": "a.sql"}, "b": {"sql": "SELECT 1"}}, "knownRecords": "known.jsonl"},
        "rollback": {"authority": "oncall"},
    }
    document = {"apiVersion": "anabranch/v1", "kind": "Backfill", "metadata": {"name": "fix"}, "spec": spec}
    backfill = Backfill.model_validate(document, context=Surroundings(folder))
    pinned = pin_files(folder, backfill)
    assert pinned.keys() == {"a.sql", "known.jsonl"}
    assert digest_files(folder, pinned) == pinned
    (folder / "a.sql").write_text("")
    (folder / "known.jsonl").unlink()
    assert digest_files(folder, pinned).keys() == {"a.sql"}
    assert digest_files(folder, pinned)["a.sql"] != pinned["a.sql"]
    with pytest.raises(OSError, match="known"):
        pin_files(folder, backfill)
