"""Ended before and after each commit, of live and of a run: nothing missing, nothing counted twice."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.conformance.classes.dying import dying_at, killed_then_done
from tests.conformance.classes.kinds import ORDERED, UPSERT, Kind
from tests.conformance.classes.scene import Scene
from tests.fixtures.properties import examples

from anabranch.validate.report import Verdict

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.timeout(1200)]


@pytest.mark.parametrize("kind", [ORDERED, UPSERT][: examples(usual=1, soak=2)], ids=lambda kind: kind.name)
def test_every_commit_takes_effect_once(
    damaged: Callable[[Kind], Scene], kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ordered is upsert and a fold before it, so that a usual run kills that one only."""
    scene = damaged(kind)
    run = scene.plan(slices=2)
    for point in ("slice.commit.before", "slice.commit.after"):
        with dying_at(monkeypatch, point):
            scene.apply(scene.again(run.run_id))
    assert scene.apply(scene.again(run.run_id)).verdict is Verdict.ACCEPTED
    for seed, point in enumerate(("live.commit.before", "live.commit.after"), start=3):
        scene.produce(3, 20, seed)
        killed_then_done(monkeypatch, point, scene.live)
    before = scene.expected()
    assert scene.rows() == before

    with dying_at(monkeypatch, "promote.commit.before"):
        scene.promote(scene.again(run.run_id))
    assert scene.rows() == before
    killed_then_done(monkeypatch, "promote.commit.after", lambda: scene.promote(scene.again(run.run_id)))
    assert scene.rows() == scene.expected(corrected_from=1)
    scene.produce(4, 20, seed=5)
    scene.live()
    with dying_at(monkeypatch, "rollback.commit.before"):
        scene.roll_back(scene.again(run.run_id))
    killed_then_done(monkeypatch, "rollback.commit.after", lambda: scene.roll_back(scene.again(run.run_id)))
    assert scene.rows() == scene.expected()
