"""Fixtures of the whole run: one broker, one Spark session, one PostgreSQL, each started on first use."""

pytest_plugins = ["tests.fixtures.broker", "tests.fixtures.postgres", "tests.fixtures.project", "tests.fixtures.spark"]
