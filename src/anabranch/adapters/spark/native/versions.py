"""The versions that the native writer was built for. It uses internal classes of these projects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import SparkSession

BUILT_FOR = {"Spark": "4.0.2", "Iceberg": "1.11.0", "Parquet": "1.17.1"}
"""Parquet is the version in Iceberg's runtime jar."""


def running_versions(spark: SparkSession) -> dict[str, str]:
    """The versions that the session's JVM has loaded."""
    jvm: Any = spark._jvm
    return {
        "Spark": str(spark.version),
        "Iceberg": str(jvm.org.apache.iceberg.IcebergBuild.version()),
        "Parquet": str(jvm.org.apache.iceberg.shaded.org.apache.parquet.Version.VERSION_NUMBER),
    }


def version_mismatch(running: Mapping[str, str]) -> str | None:
    """A notice for the user if the native writer must not be used; None if it may."""
    different = {name: running.get(name, "unknown") for name, built in BUILT_FOR.items() if running.get(name) != built}
    if not different:
        return None
    built = ", ".join(f"{name} {BUILT_FOR[name]}" for name in different)
    found = ", ".join(f"{name} {version}" for name, version in different.items())
    return (
        f"Native slice writing is off: built for {built}, this session runs {found}. Spark's own writer writes the "
        "same rows, more slowly. `spark.native: false` in anabranch.yaml silences this notice."
    )
