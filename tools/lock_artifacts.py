"""Resolve the Maven artifacts we run and write them, with checksums, into artifacts.json (`make lock`)."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from jgo.maven import MavenContext

from anabranch.adapters.jvm.artifacts import LOCK, digest

KAFKA_BROKER = "org.apache.kafka:kafka_2.13:4.3.1"
"""Taken with everything it depends on."""

LOGGING = "org.apache.logging.log4j:log4j-slf4j-impl:2.25.4"
"""Without it the broker's own words are lost. Taken alone: its parent would manage the broker's versions."""

SPARK_JARS = (
    # PySpark brings the rest. These three connectors exist together only at 4.0.0.
    "org.apache.spark:spark-sql-kafka-0-10_2.13:4.0.0",
    "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0",
    "org.apache.spark:spark-avro_2.13:4.0.0",
    "org.apache.iceberg:iceberg-spark-runtime-4.0_2.13:1.11.0",
    # Not the 3.9.0 that the connector asks for: CVE-2025-27817.
    "org.apache.kafka:kafka-clients:3.9.2",
    "org.apache.commons:commons-pool2:2.12.0",
    # The catalog's databases: SQLite when embedded, PostgreSQL for a team.
    "org.xerial:sqlite-jdbc:3.50.3.0",
    "org.postgresql:postgresql:42.7.8",
)


def main() -> None:
    with TemporaryDirectory() as scratch:
        maven = MavenContext(repo_cache=Path(scratch), timeout=60)
        inputs, rest = maven.resolver.resolve([maven.create_dependency(KAFKA_BROKER)])
        kafka = [*inputs, *rest, maven.create_dependency(LOGGING)]
        spark = [maven.create_dependency(c) for c in SPARK_JARS]
        bundles = {"kafka": [_row(d) for d in kafka], "spark": [_row(d) for d in spark]}
    LOCK.write_text(json.dumps(bundles, indent=1) + "\n")
    print(f"{sum(map(len, bundles.values()))} jars locked in {LOCK.name}")


def _row(dependency: Any) -> dict[str, Any]:
    artifact = dependency.artifact
    path = artifact.resolve()
    parts = [artifact.groupId, artifact.artifactId, artifact.version, artifact.classifier]
    return {"coordinate": ":".join(p for p in parts if p), "sha256": digest(path), "size": path.stat().st_size}


if __name__ == "__main__":
    main()
