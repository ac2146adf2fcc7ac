"""Kafka: whether it answers, which one it is, and whether it can do what a replay asks of it."""

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
        return judge(project_context.kafka.bootstrap, describe_cluster(project_context.kafka))
    except StackDownError as down:
        return red("kafka", down.what, "anabranch dev up")
    except KafkaUnreachableError as silent:
        if project_context.loaded.settings.kafka.embedded:
            return red("kafka", silent.what, "anabranch dev down && anabranch dev up")
        return red("kafka", silent.what, silent.remedy)


def judge(bootstrap: str, cluster: Cluster) -> DoctorFinding:
    """What to say of a cluster that answered."""
    brokers = f"{len(cluster.brokers)} broker{'s' * (len(cluster.brokers) != 1)} at {bootstrap}"
    if cluster.protocol is None:
        return yellow(
            "kafka",
            f"{brokers}; its version and features can't be asked with OAUTHBEARER",
            "see to it that the brokers are Kafka 2.8 or later",
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
    "topic ids": "use Kafka 2.8 or later: here a topic made anew under its old name goes unnoticed",
    "transactions": "use Kafka 0.11 or later: here records of aborted transactions can't be told from committed ones",
}
"""Features that every replay uses, and what it means to be without one."""


def _missing(protocol: Protocol) -> list[str]:
    has = {"topic ids": protocol.topic_ids, "transactions": protocol.transactions}
    return [feature for feature in _CONSEQUENCES if not has[feature]]


def _unused(protocol: Protocol) -> dict[str, bool]:
    """What nothing of Anabranch relies on yet: no replay writes to a topic, and none is held by a broker's quota."""
    return {"idempotent writes": protocol.idempotence, "client quotas": protocol.quotas}


def _settings(cluster: Cluster) -> list[str]:
    """What the brokers' own settings add, where this user may see them."""
    said = {None: "tiered storage not shown to this user", True: "tiered storage", False: "no tiered storage"}
    if cluster.authorizer is None:
        return ["ACLs not shown to this user", said[cluster.tiered]]
    return [f"ACLs by {cluster.authorizer}" if cluster.authorizer else "no ACLs", said[cluster.tiered]]
