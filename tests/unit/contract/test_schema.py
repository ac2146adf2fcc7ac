"""The JSON Schema: every field described, and nothing heavy loaded to print it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from anabranch.cli.main import main
from anabranch.contract.schema import KINDS, schema_of, schema_of_all

HEAVY = ("pyspark", "sqlalchemy", "alembic", "pyiceberg", "pyarrow", "confluent_kafka", "kafka", "jgo")


def properties(schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, definition in {"": schema, **schema.get("$defs", {})}.items():
        for key, node in definition.get("properties", {}).items():
            # A field whose words are those of the model it refers to is described there.
            below = schema.get("$defs", {}).get(node.get("$ref", "").rpartition("/")[2], {})
            yield f"{name}.{key}", {**below, **node}


@pytest.mark.parametrize("kind", KINDS)
def test_every_field_is_described(kind: str) -> None:
    assert [name for name, node in properties(schema_of(kind)) if not node.get("description")] == []


@pytest.mark.parametrize("kind", KINDS)
def test_no_field_may_be_null_and_no_other_key_may_be_there(kind: str) -> None:
    text = json.dumps(schema_of(kind))
    assert '"null"' not in text
    definitions = [schema_of(kind), *schema_of(kind)["$defs"].values()]
    assert all(definition["additionalProperties"] is False for definition in definitions)


def test_all_in_one_document_every_reference_leads_somewhere(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed == schema_of_all()
    text = json.dumps(printed)
    references = {part.split('"')[0] for part in text.split('"#/$defs/')[1:]}
    assert references <= set(printed["$defs"])
    assert {"Project", "Pipeline", "Backfill"} <= references


@pytest.mark.parametrize("kind", KINDS)
def test_one_kind_is_printed_alone(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", kind]) == 0
    assert json.loads(capsys.readouterr().out)["title"] == KINDS[kind].__name__


@pytest.mark.parametrize("command", ["check", "schema"])
def test_nothing_heavy_is_loaded(command: str, shop: Path) -> None:
    program = (
        "import sys; from anabranch.cli.main import main; code = main(sys.argv[1:]);"
        f"print([m for m in {HEAVY} if m in sys.modules], file=sys.stderr); sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, command], cwd=shop, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert done.stderr.splitlines()[-1] == "[]"
