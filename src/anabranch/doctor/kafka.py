"""Kafka: whether it answers, its version, and whether it has the features that a replay needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anabranch.app.project_context import ProjectContext
from anabranch.doctor.finding import DoctorFinding, green, red, yellow

if TYPE_CHECKING:
    from anabranch.adapters.kafka.cluster import Cluster, Protocol


def kafka(project_context: ProjectContext) -> DoctorFinding:
    from anabranch.adapters.embedded.errors import StackDownError
    from anabranch.adapters.kafka.cluster import describe_cluster
    from anabranch.adapters.kafka.topics import KafkaUnreachableError

    try:
        return cluster_finding(project_context.kafka.bootstrap, describe_cluster(project_context.kafka))
    except StackDownError as down:
        return red("kafka", down.what, "anabranch dev up")
    except KafkaUnreachableError as silent:
        if project_context.loaded.settings.kafka.embedded:
            return red("kafka", silent.what, "anabranch dev down && anabranch dev up")
        return red("kafka", silent.what, silent.remedy)


def cluster_finding(bootstrap: str, cluster: Cluster) -> DoctorFinding:
    """The finding for a cluster that answered."""
    brokers = f"{len(cluster.brokers)} broker{'s' * (len(cluster.brokers) != 1)} at {bootstrap}"
    if cluster.protocol is None:
        return yellow(
            "kafka",
            f"{brokers}; its version and features are unknown with OAUTHBEARER",
            "make sure that the brokers are Kafka 2.8 or later",
        )
    level = cluster.protocol.metadata_version
    version = f"Kafka {cluster.protocol.version}" + (f" (metadata.version {level})" if level is not None else "")
    missing = _missing(cluster.protocol)
    if missing:
        return yellow("kafka", f"{version}, {brokers}, without {', '.join(missing)}", _CONSEQUENCES[missing[0]])
    unused = [name for name, offered in _unused(cluster.protocol).items() if offered]
    offers = [f"{', '.join(unused)} (not used by Anabranch yet)"] if unused else []
    return green("kafka", f"{version}, {brokers}; {', '.join([*_CONSEQUENCES, *_settings(cluster), *offers])}")


_CONSEQUENCES = {
    "topic ids": "use Kafka 2.8 or later: without topic ids a recreated topic is not detected",
    "transactions": "use Kafka 0.11 or later: this version has no transactions",
}
"""Features that every replay uses, and the remedy if one is missing."""


def _missing(protocol: Protocol) -> list[str]:
    has = {"topic ids": protocol.topic_ids, "transactions": protocol.transactions}
    return [feature for feature in _CONSEQUENCES if not has[feature]]


def _unused(protocol: Protocol) -> dict[str, bool]:
    """Features that Anabranch does not use yet: no replay writes to a topic or is limited by a broker's quota."""
    return {"idempotent writes": protocol.idempotence, "client quotas": protocol.quotas}


def _settings(cluster: Cluster) -> list[str]:
    """Facts from the brokers' settings, as far as this user may read them."""
    tiered = {None: "tiered storage not readable for this user", True: "tiered storage", False: "no tiered storage"}
    if cluster.authorizer is None:
        return ["ACLs not readable for this user", tiered[cluster.tiered]]
    return [f"ACLs by {cluster.authorizer}" if cluster.authorizer else "no ACLs", tiered[cluster.tiered]]
