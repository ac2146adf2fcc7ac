"""A shop to plan backfills in."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.fixtures.broker import KafkaForTests
from tests.integration.plan.shop import Shop


@pytest.fixture
def plan_shop(tmp_path: Path, kafka: KafkaForTests) -> Shop:
    return Shop.open(tmp_path / "shop", kafka)
