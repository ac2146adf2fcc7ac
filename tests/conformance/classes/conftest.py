"""A scene for each test, on the one broker and the one Spark session."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.conformance.classes.kinds import Kind
from tests.conformance.classes.scene import WRONG, Scene
from tests.fixtures.broker import KafkaForTests
from tests.fixtures.spark import SparkForTests


@pytest.fixture
def new_scene(tmp_path: Path, kafka: KafkaForTests, spark: SparkForTests) -> Iterator[Callable[..., Scene]]:
    made: list[Scene] = []

    def make(kind: Kind, **spec: Any) -> Scene:
        scene = Scene.open(tmp_path / f"bank{len(made)}", kafka, spark, kind, **spec)
        made.append(scene)
        return scene

    yield make
    for scene in made:
        scene.store.close()


@pytest.fixture
def damaged(new_scene: Callable[..., Scene]) -> Callable[[Kind], Scene]:
    """A first batch that is right, and two that are wrong, of the hours that follow."""

    def make(kind: Kind) -> Scene:
        scene = new_scene(kind)
        for hour, sign in ((0, "1"), (1, WRONG), (2, WRONG)):
            scene.use(sign)
            scene.produce(hour, 60, seed=hour)
            scene.live()
        scene.use("1")
        return scene

    return make
