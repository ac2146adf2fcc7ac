"""A database that several pipelines make at the same moment."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from tests.fixtures.spark import SparkForTests

from anabranch.adapters.spark.session.namespaces import ensure_namespace

pytestmark = pytest.mark.spark
AT_ONCE, ROUNDS = 4, 5


def test_whoever_comes_second_finds_it_there(spark: SparkForTests) -> None:
    begin = Barrier(AT_ONCE)

    def make(database: str) -> None:
        begin.wait(60)
        ensure_namespace(spark.session, spark.catalog, database)

    with ThreadPoolExecutor(AT_ONCE) as threads:
        for number in range(ROUNDS):
            list(threads.map(make, [f"made_at_once_{number}"] * AT_ONCE))
            assert spark.session.catalog.databaseExists(f"{spark.catalog.name}.made_at_once_{number}")
