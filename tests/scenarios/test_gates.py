"""Gates in a whole backfill: a red one stops the replay until somebody answers, and the way back is gone first."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from anabranch.app.backfill import BackfillRun
from anabranch.gates.evidence import newest_evidence
from anabranch.gates.scorecard import GateClosedError
from anabranch.runs.states import State
from tests.scenarios.shop import TABLE, Shop, hours

pytestmark = [pytest.mark.kafka, pytest.mark.spark]


def test_red_gates_stop_a_replay_and_a_promotion_and_the_way_back_is_gone_first(
    new_shop: Callable[..., Shop],
) -> None:
    shop = new_shop(pipeline={"effects: none": "effects: [{name: mail to the customer}]\n  residency: eu"})
    shop.produce(hours())
    shop.live()
    run = shop.plan()
    before = shop.rows()
    cold = BackfillRun(shop.project_context, shop.store, run.run_id)
    with pytest.raises(GateClosedError, match="mail to the customer"):
        shop.apply(cold)
    assert run.run.state is State.PLANNED, "nothing was read, and the run can go on"
    assert "_spark" not in cold.__dict__, "Spark is started after the gates"
    assert not [name for name in shop.table().metadata.refs if name.startswith("ab_")], "no branch is left behind"
    run.gates.override("side-effects", "the mailer is off")
    shop.apply(run)
    reside(shop, "us")
    with pytest.raises(GateClosedError, match="the target is in us"):
        shop.promote(run)
    assert shop.store.reader.run(run.run_id).state is State.VALIDATED
    assert shop.rows() == before
    rehearsed = newest_evidence(shop.store.reader, "rollback", f"table/{TABLE}")
    assert rehearsed is not None, "with what is staged, and main has seen nothing of it"
    assert (rehearsed.found["same"], rehearsed.found["staged"]) == (True, True)
    with run.lease() as lease:
        staged = files(shop, run.staging(lease).name)
    assert rehearsed.found["files_in"] == len(staged - files(shop, "main"))
    assert not [name for name in shop.table().metadata.refs if "rehearsal" in name]
    reside(shop, "eu")
    shop.promote(run)
    shop.require(shop.corrected())
    shop.close(run)
    record = json.loads((run.folder / "closure.json").read_text())
    red = {each["gate"]: each for each in record["acknowledged_red"]}
    assert {"compatibility", "capacity", "rollback"} <= set(red), "what was unknown when the replay began"
    assert "side-effects" not in red, "a check that failed is overridden and not acknowledged"
    assert all(each["automatic"] and "dev does not enforce gates" in each["reason"] for each in red.values())
    [kept] = record["overrides"]
    assert (kept["gate"], kept["reason"]) == ("side-effects", "the mailer is off")


def reside(shop: Shop, where: str) -> None:
    with shop.table().transaction() as change:
        change.set_properties({"residency": where})


def files(shop: Shop, ref: str) -> set[str]:
    return {task.file.file_path for task in shop.table().scan().use_ref(ref).plan_files()}
