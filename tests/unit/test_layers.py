"""The rule on pyspark names every package except the ones through which data flows."""

from __future__ import annotations

from pathlib import Path

from importlinter import api

ROOT = Path(__file__).parents[2]
DATA_FLOWS = {"adapters", "live"}
"""These import pyspark. `adapters.jvm` does not, and the rule names it."""
ABOVE = {"demo", "doctor"}
"""These import what starts Spark from `adapters` and `app`."""


def test_every_other_package_may_not_import_pyspark() -> None:
    rules = api.read_configuration(str(ROOT / "pyproject.toml"))["contracts_options"]
    forbidden = next(rule for rule in rules if "pyspark" in rule.get("forbidden_modules", ()))
    packages = {path.parent.name for path in (ROOT / "src" / "anabranch").glob("*/__init__.py")}
    assert packages - DATA_FLOWS - ABOVE <= {name.split(".")[1] for name in forbidden["source_modules"]}
