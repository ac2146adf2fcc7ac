"""What a verdict rests on, changed after the plan was approved: each change stops the run and is named."""

from __future__ import annotations

import json
from typing import Any

import pytest

from anabranch.runs.states import State
from tests.scenarios.backfills import NOW, Onlooker, edit
from tests.scenarios.shop import CONTRACT, Shop, refusal

CHECK, KNOWN = "checks/positive.sql", "checks/known.jsonl"


@pytest.mark.long
def test_a_check_or_a_pipeline_that_is_changed_is_found_before_validation_and_before_promotion(shop: Shop) -> None:
    folder = shop.project_context.folder
    (folder / "checks").mkdir(exist_ok=True)
    contents = {CHECK: "SELECT * FROM staged WHERE amount < 0", KNOWN: '{"order_id": "o50"}\n'}
    for file, text in contents.items():
        (folder / file).write_text(text)
    validation = {"queries": {"positive": {"file": CHECK}}, "knownRecords": KNOWN}
    spec: dict[str, Any] = CONTRACT["spec"]  # type: ignore[assignment]
    shop.contract.write_text(json.dumps({**CONTRACT, "spec": {**spec, "validation": validation}}))
    run = shop.plan(slices=1)
    with run.lease() as lease:
        run.replay(lease, Onlooker())

    (folder / CHECK).write_text("SELECT * FROM staged WHERE false")
    error = refusal(lambda run, _: shop.apply(run), shop.again(run.run_id), Onlooker())
    assert (error.code, error.fields["file"]) == ("plan.check-file-changed", CHECK)
    (folder / CHECK).unlink()
    error = refusal(lambda run, _: shop.apply(run), shop.again(run.run_id), Onlooker())
    assert (error.code, error.fields["file"]) == ("plan.check-file-changed", CHECK), "the contract does not load"
    (folder / CHECK).write_text(contents[CHECK])
    run = shop.again(run.run_id)
    with run.lease() as lease:
        assert run.validate(lease, NOW).accepted

    for file, text in contents.items():
        for change in ("emptied", "removed"):
            (folder / file).write_text("") if change == "emptied" else (folder / file).unlink()
            error = refusal(shop.promote, shop.again(run.run_id), Onlooker())
            assert (error.code, error.fields["file"]) == ("plan.check-file-changed", file)
            assert file in error.what
            assert "restore" in error.remedy
            (folder / file).write_text(text)

    pipeline = folder / "pipelines" / "orders.yaml"
    was = pipeline.read_text()
    for field, changes in {
        "quarantine.maxRecords": {"maxRecords: 1000": "maxRecords: 9999"},
        "target.keys": {"keys: [order_id]": "keys: [customer]"},
        "eventTime.slack": {"slack: 10m": "slack: 1m"},
    }.items():
        edit(pipeline, changes)
        error = refusal(shop.promote, shop.again(run.run_id), Onlooker())
        assert (error.code, error.fields["field"]) == ("plan.pipeline-changed", field)
        pipeline.write_text(was)
    shop.require(shop.former())
    assert shop.again(run.run_id).run.state is State.VALIDATED
    shop.promote(shop.again(run.run_id))
    shop.require(shop.corrected())
