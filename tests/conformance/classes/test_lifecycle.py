"""Every class through the same life: replayed, caught up with live, promoted, rolled back, promoted again.

Live and the run are ended before and after each of their commits: nothing is missing, nothing counted twice.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.conformance.classes.dying import dying_at, killed_then_done
from tests.conformance.classes.kinds import KINDS, Kind, Rows
from tests.conformance.classes.scene import RIGHT, WRONG, Scene
from tests.conformance.classes.states import States
from tests.scenarios.backfills import Onlooker

from anabranch.validate.attribution import Attribution
from anabranch.validate.report import Verdict

EXPECTED = ("output", "filtered", "superseded", "windowed")
"""What becomes of records when all goes well."""
pytestmark = [pytest.mark.long, pytest.mark.spark, pytest.mark.kafka, pytest.mark.timeout(1200)]


def differing(kind: Kind, before: Rows, after: Rows) -> int:
    """Keys with another row; or, where rows have no key, the rows that one side has more of."""
    gone, new = before - after, after - before
    keys = {(row[0], row[2] if kind.windowed else None) for row in (*gone, *new)}
    return len(keys) if kind.target else gone.total() + new.total()


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_backfill_from_damage_to_rollback_and_back(
    damaged: Callable[[Kind], Scene],
    kind: Kind,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    scene = damaged(kind)
    former = scene.expected()
    assert scene.rows() == former
    run = scene.plan(slices=2, control=True)
    states = States(scene, run, capsys) if kind.keyed else None

    for point in ("slice.commit.before", "slice.commit.after"):
        with dying_at(monkeypatch, point):
            scene.apply(scene.again(run.run_id))
    report = scene.apply(scene.again(run.run_id))
    assert report.verdict is Verdict.ACCEPTED, [result.document() for result in report.failed]
    assert report.ledger.offsets == sum(report.ledger.fates[each] for each in EXPECTED)
    assert scene.rows() == former, "production is as before"
    passed, booked = scene.metered(run)
    assert passed >= booked > 0, "what is read passes the meter, which holds the limit"
    with run.lease() as lease:
        staged = run.staging(lease)
    assert scene.rows(staged.name) == scene.expected(corrected=True)
    [control] = (each.name for each in run.target.stagings(run.run_id, control=True))
    assert scene.rows(control) == former, "the code that live ran makes of these offsets what live has made"
    assert report.charges is not None
    assert report.charges.total == Attribution(fix=differing(kind, former, scene.expected(corrected=True)))

    scene.use(WRONG)
    scene.produce(3 + kind.behind, 30, seed=3)
    killed_then_done(monkeypatch, "live.commit.after", scene.live)
    scene.use(RIGHT)
    scene.produce(4 + kind.behind, 30, seed=4)
    killed_then_done(monkeypatch, "live.commit.before", scene.live)
    before = scene.expected()
    assert scene.rows() == before
    with dying_at(monkeypatch, "promote.commit.before"):
        scene.promote(scene.again(run.run_id))
    assert scene.rows() == before
    killed_then_done(monkeypatch, "promote.commit.after", lambda: scene.promote(scene.again(run.run_id)))
    assert scene.rows() == scene.expected(corrected=True)
    if states is not None:
        states.require_only_the_good_one()

    with dying_at(monkeypatch, "rollback.commit.before"):
        scene.roll_back(scene.again(run.run_id))
    killed_then_done(monkeypatch, "rollback.commit.after", lambda: scene.roll_back(scene.again(run.run_id)))
    assert scene.rows() == before, "with nothing since, the former rows as they were"
    if states is not None:
        states.require_all()

    scene.promote(run, watch := Onlooker())
    assert watch.seen == []
    scene.produce(5 + kind.behind, 30, seed=5)
    scene.live()
    assert scene.rows() == scene.expected(corrected=True)
    scene.roll_back(run)
    assert scene.rows() == scene.expected(), "and what live wrote since the promotion"
    record = scene.close(run)
    assert record["verdict"] == "rolled_back"
    assert not [ref for ref in scene.table().metadata.refs if ref.startswith(f"ab_{run.run_id}")]
