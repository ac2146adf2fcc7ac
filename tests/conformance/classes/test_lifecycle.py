"""Every class through the same life: replayed, caught up with live, promoted, rolled back, promoted again."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.conformance.classes.kinds import KINDS, Kind, Rows
from tests.conformance.classes.scene import RIGHT, WRONG, Scene
from tests.scenarios.shop import Onlooker

from anabranch.validate.charges import Charge
from anabranch.validate.report import Verdict

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.timeout(1200)]


def differing(kind: Kind, before: Rows, after: Rows) -> int:
    """Accounts with another row; or, where rows have no key, the rows that one side has more of."""
    gone, new = before - after, after - before
    return len({row[0] for row in (*gone, *new)}) if kind.keyed else gone.total() + new.total()


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_backfill_from_damage_to_rollback_and_back(damaged: Callable[[Kind], Scene], kind: Kind) -> None:
    scene = damaged(kind)
    former = scene.expected()
    assert scene.rows() == former
    scene.live_again()
    assert scene.rows() == former, "a batch that comes again changes nothing"

    run = scene.plan(control=True)
    report = scene.apply(run)
    assert report.verdict is Verdict.ACCEPTED, [result.document() for result in report.failed]
    assert report.ledger.offsets == report.ledger.output + report.ledger.filtered + report.ledger.superseded
    assert scene.rows() == former, "production is as before"
    with run.hold() as hold:
        staged = run.staging(hold)
    assert scene.rows(staged.branch) == scene.expected(corrected_from=1)
    [control] = run.target.branches(run.run_id, control=True)
    assert scene.rows(control) == former, "the code that live ran makes of these offsets what live has made"
    assert report.charges is not None
    assert report.charges.total == Charge(fix=differing(kind, former, scene.expected(corrected_from=1)))

    scene.use(WRONG)
    scene.produce(3, 30, seed=3)
    scene.live()
    scene.use(RIGHT)
    scene.produce(4, 30, seed=4)
    scene.live()
    before = scene.expected()
    assert scene.rows() == before
    scene.promote(run)
    assert scene.rows() == scene.expected(corrected_from=1)

    scene.roll_back(run)
    assert scene.rows() == before, "with nothing since, the former rows as they were"
    scene.promote(run, watch := Onlooker())
    assert watch.seen == []
    scene.produce(5, 30, seed=5)
    scene.live()
    assert scene.rows() == scene.expected(corrected_from=1)
    scene.roll_back(run)
    assert scene.rows() == scene.expected(), "and what live wrote since the promotion"
    scene.promote(scene.again(run.run_id))
    assert scene.rows() == scene.expected(corrected_from=1)
    with run.hold() as hold:
        record = run.close(hold)
    assert record["verdict"] == "promoted"
    assert not [ref for ref in scene.table().metadata.refs if ref.startswith(f"ab_{run.run_id}")]
