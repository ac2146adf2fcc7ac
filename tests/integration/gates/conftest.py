"""A shop with ten days of events, of which live has written all, and gates over its backfills."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.fixtures.broker import KafkaForTests
from tests.integration.gates.scene import Scene
from tests.integration.plan.shop import Shop


@pytest.fixture
def scene(tmp_path: Path, kafka: KafkaForTests) -> Scene:
    return Scene(Shop.open(tmp_path / "shop", kafka))
