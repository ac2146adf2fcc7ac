"""ACLs of a topic and a group."""

from __future__ import annotations

from collections.abc import Mapping

from anabranch.adapters.kafka.topics import SECONDS, admin


def acls_of(client: Mapping[str, str], topic: str, group: str) -> tuple[str, ...] | None:
    """The ACLs that apply to both, wildcards and prefixes included; empty if the cluster has no authorizer.

    None if this user may not read them, or the cluster manages permissions elsewhere.
    """
    from confluent_kafka import KafkaError, KafkaException
    from confluent_kafka.admin import (
        AclBindingFilter,
        AclOperation,
        AclPermissionType,
        ResourcePatternType,
        ResourceType,
    )

    cluster, found = admin(client), []
    for kind, name in ((ResourceType.TOPIC, topic), (ResourceType.GROUP, group)):
        every = (None, None, AclOperation.ANY, AclPermissionType.ANY)
        wanted = AclBindingFilter(kind, name, ResourcePatternType.MATCH, *every)
        try:
            rules = cluster.describe_acls(wanted, request_timeout=SECONDS).result()
        except KafkaException as error:
            return () if error.args[0].code() == KafkaError.SECURITY_DISABLED else None
        for rule in rules:
            who = f"{rule.principal} from {rule.host}"
            what = f"{rule.permission_type.name.lower()} {rule.operation.name.lower()}"
            where = f"{rule.restype.name.lower()} {rule.name} ({rule.resource_pattern_type.name.lower()})"
            found.append(f"{what} on {where} for {who}")
    return tuple(sorted(found))
