"""Small makers shared by the tests of the pipeline's code on Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from anabranch.contract.pipeline import Pipeline
from anabranch.project.model import Surroundings

KAFKA = (
    "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp, timestampType int, "
    "headers array<struct<key:string,value:binary>>"
)
STAMP = datetime(2025, 6, 1, 12, tzinfo=timezone.utc)


def records(session: SparkSession, values: Sequence[bytes | None]) -> DataFrame:
    """Values as the Kafka source gives them, at partition 0 and the offsets 0, 1, …"""
    rows = [(b"k", value, "shop.orders", 0, offset, STAMP, 0, None) for offset, value in enumerate(values)]
    return session.createDataFrame(rows, KAFKA)


def pipeline(folder: Any, columns: Mapping[str, str], *, event_time: Mapping[str, Any], **spec: Any) -> Pipeline:
    """A pipeline that reads these columns. The folder must hold whatever transform is named."""
    document = {
        "apiVersion": "anabranch/v1",
        "kind": "Pipeline",
        "metadata": {"name": "orders"},
        "spec": {
            "class": "stateless",
            "owner": "tests",
            "source": {"topic": "shop.orders", "schema": dict(columns)},
            "eventTime": dict(event_time),
            "transform": {"python": "transforms.orders:transform"},
            "target": {"table": "shop.orders"},
            "consumerGroup": "shop-orders",
            **spec,
        },
    }
    return Pipeline.model_validate(document, context=Surroundings(folder))
