"""A deadline that passes and a budget that is used up, in the middle of a replay: each is carried out and on record."""

from __future__ import annotations

import json
from collections.abc import Mapping
from copy import deepcopy
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from anabranch.app.backfill import BackfillRun
from anabranch.cli.main import main
from anabranch.project.quantities import format_moment
from anabranch.replay.limits import MISSED, OverBudgetError
from anabranch.replay.replayer import ReplayEnd
from anabranch.runs.states import Event, State
from tests.scenarios.backfills import Onlooker
from tests.scenarios.shop import CONTRACT, Shop

pytestmark = [pytest.mark.kafka, pytest.mark.spark]
HOUR = timedelta(hours=1)


def submitted(shop: Shop, slices: int, **spec: Any) -> BackfillRun:
    """A run by a contract of its own."""
    contract: dict[str, Any] = deepcopy(CONTRACT)
    contract["spec"].update(spec)
    (shop.project_context.folder / "contracts" / "fix.yaml").write_text(json.dumps(contract))
    return shop.plan(slices)


def passed(choice: str) -> dict[str, Any]:
    """A window whose deadline was an hour ago."""
    deadline = format_moment(datetime.now(timezone.utc) - HOUR)
    return {"schedule": {"deadline": deadline, "onMiss": choice}}


def replay(run: BackfillRun, watch: Onlooker | None = None) -> ReplayEnd:
    with run.lease() as lease:
        return run.replay(lease, watch or Onlooker()).end


def state(run: BackfillRun) -> State:
    return run.run.state


def records(shop: Shop, run: BackfillRun, action: str) -> list[Mapping[str, Any]]:
    return [json.loads(each.details) for each in shop.store.reader.audit(run_id=run.run_id, action=action)]


def test_a_missed_deadline_pauses_once_and_whoever_goes_on_goes_on(shop: Shop) -> None:
    before, run = shop.rows(), submitted(shop, 1, **passed("pause"))
    assert replay(run) is ReplayEnd.PAUSED
    assert run.run.state is State.PAUSED
    [miss] = records(shop, run, MISSED)
    assert miss["choice"] == "pause"
    assert shop.rows() == before
    assert replay(run) is ReplayEnd.STAGED, "it was told once, and somebody went on"
    assert len(records(shop, run, MISSED)) == 1


def test_over_budget_stops_between_slices_until_somebody_answers_for_it(
    shop: Shop, capsys: pytest.CaptureFixture[str]
) -> None:
    run, watch = submitted(shop, 2, budget={"cost": 1e-9}), Onlooker()
    with pytest.raises(OverBudgetError, match="the budget is") as stopped:
        replay(run, watch)
    assert len(watch.seen) == 1, "the first slice is what told what it costs"
    assert "gates override cost" in stopped.value.remedy
    assert state(run) is State.FAILED
    with pytest.raises(OverBudgetError):
        replay(run)
    run.gates.override("cost", "the invoice is approved")
    shop.apply(run)
    assert state(run) is State.VALIDATED
    assert main(["cost", run.run_id, "--project", str(shop.project_context.folder), "-o", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    with run.lease() as lease:
        lease.transition(Event.CANCEL)
        closure: Any = run.close(lease, datetime.now(timezone.utc))
    cost = closure["cost"]
    assert cost["actual"]["amount"] > cost["budget"] == 1e-9
    egress = {each["meter"]: each["quantity"] for each in cost["actual"]["meters"]}["brokerEgress"]
    assert egress == pytest.approx(closure["ledger"]["bytes"] / (1 << 30), abs=1e-6)
    assert told["actual"] == cost["actual"], "the record has what the command tells"
