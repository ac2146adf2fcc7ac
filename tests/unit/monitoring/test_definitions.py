"""Names, units and labels of metrics keep to one form, and every file that names a metric names one that exists."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML
from tools import metrics_table
from tools.dashboard import UID, render

from anabranch.monitoring.definitions import DEFINITIONS, Definition, MetricKind
from anabranch.monitoring.files import DASHBOARD, RULES, read_file

ROOT = Path(__file__).parents[3]
NAMES = {each.name for each in DEFINITIONS}
UNITS = ("_info", "_ratio", "_seconds", "_bytes_per_second", "_records_per_second", "_total")
PLAIN = {
    "up",
    "run_state",
    "audit_chain_intact",
    "live_lag_records",
    "table_files",
    "table_snapshots",
    "queue_length",
    "orphan_quotas",
}
"""Counts, states and booleans: they have no unit."""


def named(text: str) -> set[str]:
    return set(re.findall(r"\banabranch_[a-z0-9_]+", text))


@pytest.mark.parametrize("each", DEFINITIONS, ids=lambda each: each.suffix)
def test_a_name_ends_with_its_unit(each: Definition) -> None:
    assert each.suffix in PLAIN or each.suffix.endswith(UNITS)
    assert (each.kind is MetricKind.COUNTER) == each.suffix.endswith("_total")
    assert each.help.endswith(".")


@pytest.mark.parametrize("each", DEFINITIONS, ids=lambda each: each.suffix)
def test_only_gauges_have_a_run_and_none_has_a_partition(each: Definition) -> None:
    assert "partition" not in each.labels
    assert "run" not in each.labels or (each.kind is MetricKind.GAUGE and "topic" not in each.labels)


def test_names_are_unique() -> None:
    assert len(NAMES) == len(DEFINITIONS)


@pytest.mark.parametrize("file", [RULES, DASHBOARD])
def test_rules_and_dashboard_use_only_metrics_that_exist(file: str) -> None:
    used = named(read_file(file))
    assert len(used) > 5
    assert used - NAMES == set()


def test_each_alert_says_what_is_wrong_and_what_to_do() -> None:
    rules = [rule for group in YAML(typ="safe").load(read_file(RULES))["groups"] for rule in group["rules"]]
    assert len({rule["alert"] for rule in rules}) == len(rules) >= 9
    for rule in rules:
        assert {"summary", "action"} <= rule["annotations"].keys(), rule["alert"]
        assert rule["labels"]["severity"] in ("warning", "critical")


def test_the_dashboard_is_what_its_source_makes() -> None:
    assert read_file(DASHBOARD) == render(), "run make monitoring"


def test_the_dashboard_has_a_fixed_uid_and_live_and_backfill_on_rows_of_their_own() -> None:
    shown = json.loads(read_file(DASHBOARD))
    assert shown["uid"] == UID == "anabranch"
    assert [panel["title"] for panel in shown["panels"] if panel["type"] == "row"] == ["Now", "Live", "Backfill"]
    ids = [panel["id"] for panel in shown["panels"]]
    assert len(set(ids)) == len(ids)


def _lost(wanted: Any, read: Any, where: str = "") -> list[str]:
    """What a reader of Grafana's schema did not take over."""
    if isinstance(wanted, dict) and isinstance(read, dict):
        return [
            each
            for key in wanted
            for each in ([f"{where}/{key}"] if key not in read else _lost(wanted[key], read[key], f"{where}/{key}"))
        ]
    if isinstance(wanted, list) and isinstance(read, list) and len(wanted) == len(read):
        return [
            x
            for i, (one, other) in enumerate(zip(wanted, read, strict=True))
            for x in _lost(one, other, f"{where}[{i}]")
        ]
    return [] if wanted == read else [where]


def _read_by_grafanas_schema(document: Any) -> Any:
    pytest.importorskip("grafana_foundation_sdk", reason="the models of Grafana's schema need Python 3.11")
    from grafana_foundation_sdk.cog.encoder import JSONEncoder
    from grafana_foundation_sdk.cog.plugins import register_default_plugins
    from grafana_foundation_sdk.models.dashboard import Dashboard

    register_default_plugins()
    return json.loads(JSONEncoder().encode(Dashboard.from_json(document)))


def test_grafanas_schema_knows_every_field_of_the_dashboard() -> None:
    shown = json.loads(read_file(DASHBOARD))
    assert _lost(shown, _read_by_grafanas_schema(shown)) == []
    shown["panels"][1]["gridpos"] = {}
    shown["refreshEvery"] = "30s"
    assert sorted(_lost(shown, _read_by_grafanas_schema(shown))) == ["/panels[1]/gridpos", "/refreshEvery"]


def test_the_documentation_lists_exactly_the_metrics() -> None:
    page = (ROOT / "docs" / "monitoring.md").read_text(encoding="utf-8")
    assert metrics_table.render(page) == page, "run make monitoring"
    rows = re.findall(r"^\| `(anabranch_\w+)` \| (\w+) \| (.*?) \| (\w+) \| (.*) \|$", page, re.MULTILINE)
    assert rows == [
        (d.name, d.kind.value, ", ".join(f"`{label}`" for label in d.labels), d.source.value, d.help)
        for d in DEFINITIONS
    ]


def test_the_documentation_lists_exactly_the_alerts() -> None:
    page = (ROOT / "docs" / "monitoring.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `(Anabranch\w+)` \|", page, re.MULTILINE) == re.findall(r"- alert: (\w+)", read_file(RULES))
