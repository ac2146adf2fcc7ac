"""A scene for each test, on the one broker and the one Spark session."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.conformance.classes.kinds import Kind
from tests.conformance.classes.scene import RIGHT, WRONG, Scene
from tests.fixtures.broker import KafkaForTests
from tests.fixtures.spark import SparkForTests


@pytest.fixture
def new_scene(tmp_path: Path, kafka: KafkaForTests, spark: SparkForTests) -> Iterator[Callable[[Kind], Scene]]:
    made: list[Scene] = []

    def make(kind: Kind) -> Scene:
        scene = Scene.open(tmp_path / f"bank{len(made)}", kafka, spark, kind)
        made.append(scene)
        return scene

    yield make
    for scene in made:
        scene.store.close()


@pytest.fixture
def damaged(new_scene: Callable[[Kind], Scene]) -> Callable[[Kind], Scene]:
    """A first hour that is right, and two that are wrong; more where the table is behind the topic."""

    def make(kind: Kind) -> Scene:
        scene = new_scene(kind)
        scene.produce(0, 60, seed=0)
        scene.live()
        scene.use(WRONG)
        scene.produce(1, 60, seed=1)
        scene.live()
        for hour in range(2, 3 + kind.behind):
            scene.produce(hour, 60, seed=hour)
        scene.live()
        scene.use(RIGHT)
        return scene

    return make
