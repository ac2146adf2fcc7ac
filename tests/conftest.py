"""Fixtures of the whole run: one broker, one Spark session, one PostgreSQL, each started on first use."""

import os

from hypothesis import settings

# No test is judged by the clock: a machine with other work on it is slow.
settings.register_profile("anabranch", deadline=None)
settings.load_profile("anabranch")

# Of every JVM of the run: they work for minutes, and half their time went into compiling code to run for hours.
# The quick compiler alone gets 48 MB for its code, which the one Spark session fills: it would throw away what it
# needs again a moment later.
os.environ.setdefault("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=256m")

pytest_plugins = [
    "tests.fixtures.broker",
    "tests.fixtures.postgres",
    "tests.fixtures.project",
    "tests.fixtures.prometheus",
    "tests.fixtures.spark",
    "tests.fixtures.two_at_once",
]
