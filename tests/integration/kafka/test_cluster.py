"""Which Kafka it is and what it can do, asked of the real broker; and what is said when nobody answers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.fixtures.broker import KafkaForTests

from anabranch.adapters.kafka.access import KafkaAccess, Login
from anabranch.adapters.kafka.cluster import describe_cluster
from anabranch.adapters.kafka.topics import KafkaUnreachableError

NOBODY = "127.0.0.1:9"


@pytest.mark.kafka
def test_the_embedded_broker_tells_what_it_is(kafka: KafkaForTests) -> None:
    cluster = describe_cluster(KafkaAccess(kafka.bootstrap))
    assert cluster.brokers == (1,)
    assert (cluster.authorizer, cluster.tiered) == ("", False)
    assert cluster.protocol is not None
    assert cluster.protocol.version.startswith("4.")
    assert cluster.protocol.metadata_version is not None
    features = (
        cluster.protocol.idempotence,
        cluster.protocol.transactions,
        cluster.protocol.quotas,
        cluster.protocol.topic_ids,
    )
    assert features == (True, True, True, True)


@pytest.mark.kafka
def test_asking_joins_no_group_and_makes_no_topic(kafka: KafkaForTests) -> None:
    from confluent_kafka.admin import AdminClient

    client = AdminClient({"bootstrap.servers": kafka.bootstrap, "log_level": 0})

    def seen() -> tuple[set[str], set[str]]:
        groups = client.list_consumer_groups(request_timeout=30).result().valid
        return {group.group_id for group in groups}, set(client.list_topics(timeout=30).topics)

    before = seen()
    describe_cluster(KafkaAccess(kafka.bootstrap))
    assert seen() == before


def test_nobody_there_is_told_with_the_reason() -> None:
    with pytest.raises(KafkaUnreachableError) as silent:
        describe_cluster(KafkaAccess(NOBODY), seconds=2)
    assert NOBODY in silent.value.what
    assert "Connection refused" in silent.value.what


def test_a_certificate_that_is_not_there_is_told_by_name() -> None:
    login = Login("SSL", ca_file="/no/such/ca.pem", key_password="canary")
    with pytest.raises(KafkaUnreachableError, match="ca\\.location") as refused:
        describe_cluster(KafkaAccess(NOBODY, login), seconds=2)
    assert "canary" not in f"{refused.value.as_dict()}"


@pytest.mark.kafka
def test_a_broker_that_speaks_no_tls_is_told_as_such(kafka: KafkaForTests) -> None:
    login = Login("SASL_SSL", "SCRAM-SHA-512", "ann", "canary")
    with pytest.raises(KafkaUnreachableError) as refused:
        describe_cluster(KafkaAccess(kafka.bootstrap, login), seconds=3)
    assert "SSL" in refused.value.what
    assert "canary" not in f"{refused.value.as_dict()}"


@pytest.mark.kafka
def test_the_doctor_says_it_in_a_line(kafka: KafkaForTests, shop: Path) -> None:
    skipped = [word for name in ("jars", "spark", "memory", "disk") for word in ("--skip", name)]
    done = subprocess.run(
        [sys.executable, "-m", "anabranch", "doctor", "-o", "json", *skipped],
        cwd=shop,
        env={**os.environ, "ANABRANCH_KAFKA__BOOTSTRAP": kafka.bootstrap},
        capture_output=True,
        text=True,
        check=False,
    )
    found = {each["subject"]: each for each in json.loads(done.stdout)["findings"]}
    assert (done.returncode, found["kafka"]["level"]) == (0, "green"), done.stdout
    assert f"1 broker at {kafka.bootstrap}" in found["kafka"]["says"]
    assert found["catalog"]["level"] == "green"
