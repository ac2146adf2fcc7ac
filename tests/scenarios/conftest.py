"""A shop for each test, on the one broker and the one Spark session."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.broker import KafkaForTests
from tests.fixtures.spark import SparkForTests
from tests.scenarios.shop import Shop, hours


@pytest.fixture
def new_shop(tmp_path: Path, kafka: KafkaForTests, spark: SparkForTests) -> Iterator[Callable[..., Shop]]:
    made: list[Shop] = []

    def make(**settings: Any) -> Shop:
        shop = Shop.open(tmp_path / f"shop{len(made)}", kafka, spark, **settings)
        made.append(shop)
        return shop

    yield make
    for shop in made:
        shop.store.close()


@pytest.fixture
def shop(new_shop: Callable[..., Shop]) -> Shop:
    """Six hours of orders, all written by live with the bug."""
    shop = new_shop()
    shop.produce(hours())
    shop.live()
    return shop
