"""One table for the tests that only stage; those that change the table itself make their own."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest
from tests.fixtures.spark import SparkForTests
from tests.integration.validate.scene import Scene, make_scene

_numbers = count()


@pytest.fixture(scope="session")
def shared_scene(spark: SparkForTests, tmp_path_factory: pytest.TempPathFactory) -> Scene:
    return make_scene(spark, "validation.orders", tmp_path_factory.mktemp("project"))


@pytest.fixture
def scene(shared_scene: Scene, tmp_path: Path) -> Scene:
    return shared_scene.asking(tmp_path)


@pytest.fixture
def new_scene(spark: SparkForTests, tmp_path: Path) -> Callable[[], Scene]:
    return lambda: make_scene(spark, f"validation.orders_{next(_numbers)}", tmp_path)
