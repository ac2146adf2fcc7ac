"""The world that plans are made for."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.plan.world import World


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return World.below(tmp_path_factory.mktemp("plan") / "shop")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path
