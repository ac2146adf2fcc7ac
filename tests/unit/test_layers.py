"""The import rules name every package: one that is added is held to them from its first commit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from importlinter import api

ROOT = Path(__file__).parents[2]
AROUND = {"adapters", "app", "cli", "demo", "doctor", "live"}
"""These may import adapters, or are adapters."""


def contracts() -> list[dict[str, Any]]:
    options = api.read_configuration(str(ROOT / "pyproject.toml"))["contracts_options"]
    return list(options)


def packages() -> set[str]:
    return {path.parent.name for path in (ROOT / "src" / "anabranch").glob("*/__init__.py")}


def test_every_room_may_import_neither_adapters_nor_clients() -> None:
    [rule] = [each for each in contracts() if "anabranch.adapters" in each.get("forbidden_modules", ())]
    assert packages() - AROUND <= {name.split(".")[1] for name in rule["source_modules"]}
    assert {"pyspark", "pyiceberg", "confluent_kafka", "sqlalchemy"} <= set(rule["forbidden_modules"])
    assert rule.get("allow_indirect_imports") is None, "also through another module"


def test_every_package_has_its_layer() -> None:
    [rule] = [each for each in contracts() if each["type"] == "layers"]
    named = {name.strip("() ").removeprefix("anabranch.") for layer in rule["layers"] for name in layer.split("|")}
    assert packages() <= named


def test_every_package_says_what_belongs_there() -> None:
    silent = [
        str(path.parent.relative_to(ROOT))
        for path in (ROOT / "src" / "anabranch").rglob("__init__.py")
        if "migrations" not in path.parts and not path.read_text(encoding="utf-8").startswith('"""')
    ]
    assert silent == []


def test_no_test_file_hides_another() -> None:
    """Two files of one dotted name are imported once: the tests of one run twice, those of the other never."""
    named: dict[str, list[str]] = {}
    for path in (ROOT / "tests").rglob("test_*.py"):
        parts, folder = [path.stem], path.parent
        while (folder / "__init__.py").exists():
            parts.insert(0, folder.name)
            folder = folder.parent
        if len(parts) > 1:
            named.setdefault(".".join(parts), []).append(str(path.relative_to(ROOT)))
    assert [files for files in named.values() if len(files) > 1] == []
