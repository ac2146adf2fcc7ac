"""One damaged scene for each kind of pipeline, shared by its writers."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from tests.conformance.classes.kinds import Kind
from tests.conformance.slice_writer.scene import Bench, Records
from tests.fixtures.broker import KafkaForTests
from tests.fixtures.spark import SparkForTests


@pytest.fixture(scope="module")
def bench_of(
    tmp_path_factory: pytest.TempPathFactory, kafka: KafkaForTests, spark: SparkForTests
) -> Iterator[Callable[[Kind], Bench]]:
    made: dict[str, Bench] = {}

    def bench(kind: Kind) -> Bench:
        if kind.name not in made:
            scene = Records.open(tmp_path_factory.mktemp("writers") / "bank", kafka, spark, kind)
            assert isinstance(scene, Records)
            scene.damage()
            made[kind.name] = Bench(scene)
        return made[kind.name]

    yield bench
    for each in made.values():
        each.scene.store.close()
