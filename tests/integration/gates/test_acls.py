"""A cluster that checks rights: what is denied is named with the ACL it needs, and closes the gate if it must."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from confluent_kafka.admin import AclBinding, AclOperation, AclPermissionType, AdminClient, ResourceType
from confluent_kafka.admin import ResourcePatternType as Pattern
from tests.fixtures.broker import QUIET, KafkaForTests, embedded_kafka, eventually
from tests.integration.gates.scene import Scene
from tests.integration.plan.shop import Shop

from anabranch.adapters.embedded import start
from anabranch.adapters.embedded.properties import broker_properties
from anabranch.adapters.embedded.state import Stack
from anabranch.adapters.kafka.access import KafkaAccess
from anabranch.adapters.kafka.acls import acls_of
from anabranch.adapters.kafka.compatibility import CompatibilityProbe
from anabranch.gates.checks.compatibility import Operation, ProbeOutcome

pytestmark = [pytest.mark.long, pytest.mark.kafka]
AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
}


@pytest.fixture
def guarded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[KafkaForTests]:
    """A broker with an authorizer, to which everybody is the same anonymous user."""

    def with_authorizer(stack: Stack, node: int) -> dict[str, str]:
        return {**broker_properties(stack, node), **AUTHORIZER}

    monkeypatch.setattr(start, "broker_properties", with_authorizer)
    project = tmp_path / "guarded"
    project.mkdir()
    (project / "anabranch.yaml").touch()
    with embedded_kafka(project) as running:
        yield running


def deny(kafka: KafkaForTests, name: str, pattern: Pattern, operation: AclOperation) -> None:
    """Everything but this. A resource with any rule at all is open only to whom a rule lets in."""
    client = AdminClient({"bootstrap.servers": kafka.bootstrap, **QUIET})
    rules = [
        AclBinding(ResourceType.TOPIC, name, pattern, "User:ANONYMOUS", "*", what, permission)
        for what, permission in ((AclOperation.ALL, AclPermissionType.ALLOW), (operation, AclPermissionType.DENY))
    ]
    for answer in client.create_acls(rules).values():
        answer.result(30)


def test_what_is_denied_is_named(guarded: KafkaForTests, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scene = Scene(Shop.open(tmp_path / "shop", guarded))
    contract = scene.stage()
    topic, other = scene.topic(), guarded.create_topic("other")
    deny(guarded, other, Pattern.LITERAL, AclOperation.DESCRIBE_CONFIGS)
    deny(guarded, topic, Pattern.LITERAL, AclOperation.READ)
    eventually(lambda: outcomes(guarded, topic)[Operation.CONSUME] is ProbeOutcome.DENIED)
    assert [each for each, how in outcomes(guarded, other).items() if how is not ProbeOutcome.WORKS] == [
        Operation.CONFIGS
    ]
    deny(guarded, "anabranch-probe", Pattern.PREFIXED, AclOperation.WRITE)
    eventually(lambda: outcomes(guarded, topic)[Operation.PRODUCE] is ProbeOutcome.DENIED)
    code, card = scene.gates(capsys, "-f", str(contract))
    compatibility = card["compatibility"]
    assert (code, compatibility["colour"]) == (3, "red"), compatibility
    assert f"allow Read on topic {topic}" in compatibility["to_green"]
    assert "allow Create, Write and Delete on topic anabranch-probe-*" in compatibility["to_green"]
    denied = {each for each, how in compatibility["figures"].items() if how == "denied"}
    assert denied == {"consume", "produce", "transactions"}
    assert compatibility["figures"]["ACLs"] == "works"
    assert card["storage-path"]["colour"] == "red", card["storage-path"]
    assert (card["schema"]["colour"], card["schema"]["cause"]) == ("red", "unknown"), "no record could be sampled"


def test_rules_are_seen_and_what_nobody_guards_has_none(guarded: KafkaForTests, kafka: KafkaForTests) -> None:
    """Those of the topic and of the group, by name, by prefix or for all; not those of others."""
    topic, group = guarded.create_topic("orders"), "group-orders"
    client = {"bootstrap.servers": guarded.bootstrap}
    assert acls_of(client, topic, group) == ()
    deny(guarded, topic, Pattern.LITERAL, AclOperation.READ)
    deny(guarded, topic[:3], Pattern.PREFIXED, AclOperation.WRITE)
    deny(guarded, guarded.create_topic("zzz"), Pattern.LITERAL, AclOperation.READ)
    rights = [
        f"allow all on topic {topic} (literal) for User:ANONYMOUS from *",
        f"allow all on topic {topic[:3]} (prefixed) for User:ANONYMOUS from *",
        f"deny read on topic {topic} (literal) for User:ANONYMOUS from *",
        f"deny write on topic {topic[:3]} (prefixed) for User:ANONYMOUS from *",
    ]
    eventually(lambda: acls_of(client, topic, group) == tuple(sorted(rights)))
    unguarded = {"bootstrap.servers": kafka.bootstrap}
    assert acls_of(unguarded, kafka.create_topic("orders"), group) == ()


def outcomes(kafka: KafkaForTests, topic: str) -> dict[Operation, ProbeOutcome]:
    """As it is now: a new rule takes a moment to reach the broker."""
    probes, left = CompatibilityProbe(KafkaAccess(kafka.bootstrap), topic, "group-orders", uuid4().hex)()
    assert left == ()
    return {each.operation: each.outcome for each in probes}
