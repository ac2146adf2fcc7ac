"""The world that rehearsed plans are made for."""

from __future__ import annotations

import pytest
from tests.unit.plan.world import World


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return World.below(tmp_path_factory.mktemp("readiness") / "shop")
