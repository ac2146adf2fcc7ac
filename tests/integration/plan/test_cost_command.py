"""`anabranch cost`, and what `plan` says of window and cost, on a real broker and catalog, with nothing rehearsed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.integration.plan.shop import DAY, JUNE, MINUTE, Shop, every

from anabranch.app.project_context import open_project
from anabranch.cli.main import main
from anabranch.gates.evidence import newest_evidence

pytestmark = pytest.mark.kafka


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[dict[str, Any], str]:
    code = main([*arguments, "-o", "json"])
    printed = capsys.readouterr()
    assert code == 0, printed.err
    return json.loads(printed.out), printed.err


def a_shop(shop: Shop) -> Path:
    topic = shop.topic(every(10 * MINUTE, JUNE, JUNE + 10 * DAY))
    shop.pipeline("orders", topic)
    shop.table("orders")
    shop.live("orders", [JUNE + n * DAY for n in range(10)], {0: (0, 10 * 144)})
    return shop.contract("orders", JUNE + 3 * DAY, JUNE + 5 * DAY)


def test_an_estimate_is_priced_kept_and_told_by_plan(plan_shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    contract, project = a_shop(plan_shop), str(plan_shop.folder)
    planned, _ = run(capsys, "plan", "-f", str(contract), "--project", project)
    assert planned["schedule"] is None, "nobody has rehearsed it"
    found, said = run(capsys, "cost", "-f", str(contract), "--project", project)
    assert (found["plan"], found["budget"]) == (planned["hash"], None)
    assert "anabranch rehearse" in said
    estimate = found["estimate"]
    assert estimate["rests_on"] == "assumptions of the price book"
    assert estimate == {key: value for key, value in planned["cost"].items() if key != "budget"}
    meters = {each["meter"]: each for each in estimate["meters"]}
    assert meters["brokerEgress"]["quantity"] == round(planned["estimates"]["bytes"] / 2**30, 6)
    assert estimate["amount"] == pytest.approx(sum(each["amount"] for each in meters.values()), abs=1e-5)
    with open_project(plan_shop.folder).store() as store:
        kept = newest_evidence(store.reader, "cost", f"plan/{planned['hash']}")
    assert kept is not None
    assert (kept.found["amount"], kept.found["currency"]) == (estimate["amount"], "USD")
    assert main(["plan", "-f", str(contract), "--project", project]) == 0
    table = capsys.readouterr().out
    assert "unknown until a rehearsal" in table
    assert "no budget in the contract" in table
