"""The catalog of the embedded stack: made by `dev up`, shown by `dev status`, kept by `dev down`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.fixtures.broker import KafkaForTests

from anabranch.adapters.iceberg.embedded import EmbeddedCatalog
from anabranch.cli.main import main


def shown(capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    catalog: dict[str, object] = json.loads(capsys.readouterr().out)["catalog"]
    return catalog


def test_status_says_that_there_is_none_yet(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dev", "status", "--project", str(shop), "-o", "json"]) == 1
    assert shown(capsys)["exists"] is False
    assert not (shop / ".anabranch").exists(), "looking made something"


@pytest.mark.kafka
def test_up_makes_a_catalog_that_can_be_used_and_again_keeps_it(
    kafka: KafkaForTests, capsys: pytest.CaptureFixture[str]
) -> None:
    project = ["--project", str(kafka.project)]
    state = kafka.project / ".anabranch"

    assert main(["dev", "up", *project, "-o", "json"]) == 0
    assert shown(capsys) == {
        "exists": True,
        "database": str(state / "catalog.db"),
        "warehouse": str(state / "warehouse"),
    }
    EmbeddedCatalog.below(state).catalog("lake").open().create_namespace_if_not_exists("kept")

    assert main(["dev", "up", *project]) == 0
    assert f"catalog {state / 'catalog.db'}" in capsys.readouterr().out
    assert main(["dev", "status", *project]) == 0
    assert f"warehouse {state / 'warehouse'}" in capsys.readouterr().out
    assert ("kept",) in EmbeddedCatalog.below(state).catalog("lake").open().list_namespaces()
