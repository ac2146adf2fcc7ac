"""The alert rules, by promtool: each fires when it should, and not when it should not."""

from __future__ import annotations

from pathlib import Path

import pytest
from ruamel.yaml import YAML
from tests.fixtures.prometheus import PrometheusTools

from anabranch.cli.main import main
from anabranch.monitoring.files import RULES, read_file

CASES = Path(__file__).with_name("alerts_test.yaml")


@pytest.fixture
def rules(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """The file that `anabranch metrics rules` prints."""
    assert main(["metrics", "rules"]) == 0
    file = tmp_path / "alerts.yaml"
    file.write_text(capsys.readouterr().out)
    return file


def test_the_rules_are_valid(prometheus_tools: PrometheusTools, rules: Path) -> None:
    names = [each["alert"] for group in YAML(typ="safe").load(read_file(RULES))["groups"] for each in group["rules"]]
    assert f"{len(names)} rules found" in prometheus_tools.check("check", "rules", rules)


def test_each_alert_fires_and_is_silent(prometheus_tools: PrometheusTools, rules: Path, tmp_path: Path) -> None:
    cases = tmp_path / "cases.yaml"
    cases.write_text(CASES.read_text().replace("RULES", str(rules)))
    assert "SUCCESS" in prometheus_tools.check("test", "rules", cases)


def test_each_alert_has_a_firing_and_a_silent_case() -> None:
    names = {each["alert"] for group in YAML(typ="safe").load(read_file(RULES))["groups"] for each in group["rules"]}
    firing: set[str] = set()
    silent: set[str] = set()
    for case in YAML(typ="safe").load(CASES.read_text())["tests"]:
        for each in case["alert_rule_test"]:
            (firing if each.get("exp_alerts") else silent).add(each["alertname"])
    assert firing == silent == names
