"""What the gates sample of a topic costs its broker: a few megabytes, as the broker counts them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from anabranch.gates.checks import schema, storage_path
from tests.fixtures.broker import KafkaForTests
from tests.fixtures.broker_bytes import BrokerBytes
from tests.fixtures.spark import SparkForTests
from tests.scenarios.shop import Shop, hours
from tests.scenarios.test_rate_limit import in_small_batches, wide

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

MEGABYTES = {storage_path.KIND: 8, schema.KIND: 8}
"""Four for the probe, less than two for the records of eight places, and the fetches in flight."""


def test_samples_of_the_gates_cost_a_broker_a_few_megabytes(
    new_shop: Callable[..., Shop], kafka: KafkaForTests, spark: SparkForTests
) -> None:
    shop = new_shop(partitions=1)
    in_small_batches(shop, wide(hours(each=1200, partitions=1)))
    shop.live()
    run, broker = shop.plan(), BrokerBytes(kafka, spark, shop.topic)
    for kind, most in MEGABYTES.items():
        before = broker.sent()
        run.gates.measure(lambda _: None, (kind,))
        assert 0 < broker.sent() - before <= most * 1_000_000, kind
