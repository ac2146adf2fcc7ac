"""What is said of a cluster that answered, by what it can do."""

from __future__ import annotations

from dataclasses import replace

import pytest

from anabranch.adapters.kafka.cluster import Cluster, Protocol
from anabranch.doctor.finding import Level
from anabranch.doctor.kafka import cluster_finding

MODERN = Protocol("4.3", 30, idempotence=True, transactions=True, quotas=True, topic_ids=True)
CLUSTER = Cluster("id", (1, 2, 3), MODERN, authorizer="", tiered=False)


def test_a_modern_cluster_is_green_with_version_brokers_and_features() -> None:
    found = cluster_finding("a:1", CLUSTER)
    assert found.level is Level.GREEN
    for words in ("Kafka 4.3 (metadata.version 30)", "3 brokers at a:1", "topic ids, transactions, no ACLs"):
        assert words in found.says


def test_what_anabranch_does_not_use_is_called_that_and_may_be_missing() -> None:
    assert cluster_finding("a:1", CLUSTER).says.endswith("idempotent writes, client quotas (not used by Anabranch yet)")
    plain = replace(MODERN, quotas=False, idempotence=False)
    found = cluster_finding("a:1", replace(CLUSTER, protocol=plain))
    assert found.level is Level.GREEN
    assert "not used" not in found.says


@pytest.mark.parametrize(
    ("protocol", "words"),
    [
        (replace(MODERN, topic_ids=False), "without topic ids"),
        (replace(MODERN, transactions=False), "without transactions"),
    ],
)
def test_what_a_cluster_lacks_is_yellow_with_its_consequence(protocol: Protocol, words: str) -> None:
    found = cluster_finding("a:1", replace(CLUSTER, protocol=protocol))
    assert found.level is Level.YELLOW
    assert words in found.says
    assert found.remedy.startswith("use Kafka")


def test_what_the_brokers_settings_tell() -> None:
    guarded = cluster_finding("a:1", replace(CLUSTER, authorizer="org.example.Authorizer", tiered=True)).says
    assert "ACLs by org.example.Authorizer, tiered storage" in guarded
    closed = cluster_finding("a:1", replace(CLUSTER, authorizer=None, tiered=None)).says
    assert "ACLs not readable for this user, tiered storage not readable for this user" in closed


def test_a_cluster_before_kraft_has_no_metadata_version() -> None:
    assert (
        "metadata.version"
        not in cluster_finding("a:1", replace(CLUSTER, protocol=replace(MODERN, metadata_version=None))).says
    )


def test_a_cluster_whose_version_can_not_be_asked_is_yellow() -> None:
    assert cluster_finding("a:1", replace(CLUSTER, protocol=None)).level is Level.YELLOW
