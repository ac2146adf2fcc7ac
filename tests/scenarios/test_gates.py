"""Gates in a whole backfill: a red one stops the replay until somebody answers, and the way back is gone first."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from anabranch.gates.evidence import newest_evidence
from anabranch.gates.scorecard import GateClosedError
from anabranch.runs.states import State
from tests.scenarios.shop import TABLE, Shop, hours

pytestmark = [pytest.mark.kafka, pytest.mark.spark]


def test_a_red_gate_stops_the_replay_until_somebody_answers_for_it(new_shop: Callable[..., Shop]) -> None:
    shop = new_shop(pipeline={"effects: none": "effects: [{name: mail to the customer}]"})
    shop.produce(hours())
    shop.live()
    run = shop.plan()
    before = shop.rows()
    with pytest.raises(GateClosedError, match="mail to the customer"):
        shop.apply(run)
    assert run.run.state is State.PLANNED, "nothing was read, and the run can go on"
    run.gates.override("side-effects", "the mailer is off")
    shop.apply(run)
    assert newest_evidence(shop.store.reader, "rollback", f"table/{TABLE}") is None
    refs = set(shop.table().metadata.refs)
    with run.hold() as hold:
        staging = run.staging(hold)
    run.gates.require_for_promotion()
    rehearsed = newest_evidence(shop.store.reader, "rollback", f"table/{TABLE}")
    assert rehearsed is not None
    assert (rehearsed.found["same"], rehearsed.found["staged"]) == (True, True)
    assert rehearsed.found["files_in"] == len(files(shop, staging.snapshot) - files(shop, "main"))
    assert shop.rows() == before, "main has seen nothing of it"
    assert {name for name in shop.table().metadata.refs if "rehearsal" in name} == set()
    assert len(shop.table().metadata.refs) == len(refs)
    shop.promote(run)
    shop.require(shop.corrected())
    with run.hold() as hold:
        run.close(hold)
    [kept] = json.loads((run.folder / "closure.json").read_text())["overrides"]
    assert (kept["gate"], kept["reason"]) == ("side-effects", "the mailer is off")


def files(shop: Shop, where: int | str) -> set[str]:
    table = shop.table()
    scan = table.scan(snapshot_id=where) if isinstance(where, int) else table.scan().use_ref(where)
    return {task.file.file_path for task in scan.plan_files()}
