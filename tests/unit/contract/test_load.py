"""Pipelines and contracts as the rest of the house gets them."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from anabranch.contract.load import load_contract, load_pipelines
from anabranch.project.findings import BadFilesError
from anabranch.project.load import load_project


def findings(shop: Path) -> list[str]:
    with pytest.raises(BadFilesError) as caught:
        load_pipelines(load_project(shop, environment={}))
    return [str(finding) for finding in caught.value.findings]


def test_the_pipelines_of_a_new_project(shop: Path) -> None:
    pipelines = load_pipelines(load_project(shop, environment={}))
    assert list(pipelines) == ["orders", "payments"]
    orders = pipelines["orders"].pipeline.spec
    assert orders.pipeline_class == "stateless"
    assert orders.source.ddl.startswith(
        "`order_id` string, `customer` string, `currency` string, `amount` decimal(18,2)"
    )
    assert (orders.event_time.field, orders.event_time.slack) == ("ordered_at", timedelta(hours=1))
    assert (orders.transform.python, orders.transform.sql) == ("transforms.orders:transform", None)
    assert orders.live.max_latency == timedelta(minutes=2)
    payments = pipelines["payments"].pipeline.spec
    assert (payments.event_time.format, payments.transform.sql) == ("epochMillis", "transforms/payments.sql")
    assert payments.quarantine.max_records == 1000


def test_the_contract_of_a_new_project(shop: Path) -> None:
    contract = load_contract(load_project(shop, environment={}), shop / "contracts" / "fix-currency.yaml")
    spec = contract.backfill.spec
    assert (contract.file, contract.name, contract.pipeline.name) == (
        "contracts/fix-currency.yaml",
        "fix-currency",
        "orders",
    )
    assert spec.range.event_time is not None
    assert spec.range.event_time.start == datetime(2025, 6, 2, tzinfo=timezone.utc)
    assert spec.range.event_time.end == datetime(2025, 6, 2, 12, tzinfo=timezone.utc)
    assert spec.budget is not None
    assert spec.budget.bytes_per_second == 20 * 2**20
    assert spec.rollback.horizon == timedelta(days=7)


def test_a_contract_may_be_anywhere(shop: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere.yaml"
    elsewhere.write_text(
        (shop / "contracts" / "fix-currency.yaml").read_text().replace("pipeline: orders", "pipeline: x")
    )
    with pytest.raises(BadFilesError, match=r"elsewhere\.yaml:7: spec\.pipeline"):
        load_contract(load_project(shop, environment={}), elsewhere)


def test_two_pipelines_may_share_neither_name_nor_consumer_group(shop: Path) -> None:
    (shop / "pipelines" / "twin.yaml").write_text((shop / "pipelines" / "orders.yaml").read_text())
    assert [finding.split(":")[0] for finding in findings(shop)] == ["pipelines/twin.yaml"] * 2
    assert "pipelines/orders.yaml has the same name" in findings(shop)[0]
    assert "pipelines/orders.yaml has the same consumer group" in findings(shop)[1]


def test_a_link_to_a_file_outside_is_refused(shop: Path, tmp_path: Path) -> None:
    (tmp_path / "outside" / "p.yaml").write_text((shop / "pipelines" / "orders.yaml").read_text())
    (shop / "pipelines" / "p.yaml").symlink_to(tmp_path / "outside" / "p.yaml")
    assert "pipelines/p.yaml: this file is outside the project" in findings(shop)[0]


def test_bad_files_are_all_reported_together(shop: Path) -> None:
    for name in ("orders", "payments"):
        path = shop / "pipelines" / f"{name}.yaml"
        path.write_text(path.read_text().replace("class: stateless", "class: x").replace("owner:", "owners:"))
    assert len(findings(shop)) == 6


def test_nothing_of_a_transform_is_run_when_it_is_checked(shop: Path, tmp_path: Path) -> None:
    module = shop / "transforms" / "orders.py"
    module.write_text(module.read_text() + f"\nopen({str(tmp_path / 'ran')!r}, 'w')\n")
    load_pipelines(load_project(shop, environment={}))
    assert not (tmp_path / "ran").exists()
