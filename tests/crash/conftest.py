"""One run that was killed over and over, for all tests that look at what came of it; and fresh shops."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from tests.crash.shop import Shop
from tests.crash.story import Story
from tests.fixtures.broker import KafkaForTests

EVENTS = int(os.environ.get("ANABRANCH_TEST_EVENTS", "120000"))
"""Ten hours of twelve are replayed, so that of 120,000 events 100,000 are in the range."""
SEED = int(os.environ.get("ANABRANCH_TEST_SEED", "20250601"))


@pytest.fixture(scope="session")
def survived(kafka: KafkaForTests, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    shop = Shop.open(tmp_path_factory.mktemp("survived") / "shop", kafka)
    try:
        yield Story(shop, EVENTS, Random(SEED))()
    finally:
        shop.end()


@pytest.fixture
def crash_shop(kafka: KafkaForTests, tmp_path: Path) -> Iterator[Shop]:
    shop = Shop.open(tmp_path / "shop", kafka)
    try:
        yield shop
    finally:
        shop.end()
