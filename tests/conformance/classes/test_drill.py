"""A drill of a table that is a state by key: what came after a late state, merged again, gives the very same table."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.conformance.classes.kinds import ORDERED
from tests.conformance.classes.scene import Scene
from tests.scenarios.backfills import NOW, Onlooker

from anabranch.app.drill import build_drill
from anabranch.contract.load import load_pipelines

pytestmark = [pytest.mark.long, pytest.mark.spark, pytest.mark.kafka]


def test_a_drill_of_a_state_by_key(new_scene: Callable[..., Scene]) -> None:
    scene = new_scene(ORDERED)
    for hour in range(2):
        scene.produce(hour, 40, seed=hour)
        scene.live()
    before, refs = scene.rows(), dict(scene.table().metadata.refs)
    pipeline = load_pipelines(scene.project_context.loaded)["accounts"]

    report = build_drill(scene.project_context, scene.store, pipeline, scene.again, "ann")(lambda _: Onlooker(), NOW)

    figures = {each.question.split()[0]: each.figures for each in report.answers}
    first, last = (ends for ends, _ in scene.batches)
    # Of the two batches only the second is read again, from the state that the first has left.
    wanted = {str(p): [[first[p], last[p]]] for p in sorted(last) if first[p] < last[p]}
    offsets = next(each.figures["offsets"] for each in report.answers if each.question.startswith("Which offsets"))
    assert offsets == wanted
    proof = next(each.figures for each in report.answers if "caught up" in each.question)
    assert proof["rows"] == {"before": before.total(), "after": before.total(), "changed": False}
    assert proof["same_code"] is True
    assert figures["Who"]["isolation_held"] is True
    assert scene.rows() == before
    assert dict(scene.table().metadata.refs) == refs
