"""What a broker is told: its configuration and its log settings, as pure functions of the stack."""

from __future__ import annotations

from collections.abc import Mapping

from anabranch.adapters.embedded.state import Stack

HOST = "127.0.0.1"
"""The only address ever bound, for clients and controllers alike: the embedded broker has no authentication."""


def broker_properties(stack: Stack, node: int) -> dict[str, str]:
    """The configuration of one broker. Paths are relative to the folder that brokers run in."""
    broker = next(b for b in stack.brokers if b.node == node)
    replicas = min(3, len(stack.brokers))
    in_sync = 2 if replicas == 3 else 1
    voters = ",".join(f"{b.node}@{HOST}:{b.ports.controller}" for b in stack.brokers)
    return {
        "process.roles": "broker,controller",
        "node.id": str(node),
        # Voters by configuration, not by the metadata log, so that ports can be chosen anew without reformatting.
        "controller.quorum.voters": voters,
        "listeners": f"CLIENT://{HOST}:{broker.ports.client},CONTROLLER://{HOST}:{broker.ports.controller}",
        "advertised.listeners": f"CLIENT://{HOST}:{broker.ports.client}",
        "listener.security.protocol.map": "CLIENT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "CLIENT",
        "controller.listener.names": "CONTROLLER",
        "log.dirs": f"broker-{node}",
        **_replication(replicas, in_sync),
        **_embedded_use(),
    }


def _replication(replicas: int, in_sync: int) -> dict[str, str]:
    return {
        "default.replication.factor": str(replicas),
        "min.insync.replicas": str(in_sync),
        "offsets.topic.replication.factor": str(replicas),
        "transaction.state.log.replication.factor": str(replicas),
        "transaction.state.log.min.isr": str(in_sync),
        "share.coordinator.state.topic.replication.factor": str(replicas),
        "share.coordinator.state.topic.min.isr": str(in_sync),
    }


def _embedded_use() -> dict[str, str]:
    return {
        # A mistyped topic must fail, not appear.
        "auto.create.topics.enable": "false",
        # Sample data carry old timestamps: with Kafka's seven days they would be deleted within minutes.
        "log.retention.ms": "-1",
        "group.initial.rebalance.delay.ms": "0",
        # Fifty partitions each would only cost files and start-up time here.
        "offsets.topic.num.partitions": "5",
        "transaction.state.log.num.partitions": "5",
        "share.coordinator.state.topic.num.partitions": "5",
        # Kafka's 128 MB would be a quarter of the heap.
        "log.cleaner.dedupe.buffer.size": str(16 * 1024 * 1024),
        # After a kill -9 the controller lets the broker in again only when its former session has run out:
        # measured 5 s to be back with these, 15 s with Kafka's 9 s session.
        "broker.session.timeout.ms": "3000",
        "broker.heartbeat.interval.ms": "500",
    }


def log4j_properties() -> dict[str, str]:
    """Warnings only, in UTC, at most four files of 5 MB per broker. One file serves all brokers and the format tool."""
    return {
        "status": "error",
        # Kafka logs while it shuts down; log4j must not close before it.
        "shutdownHook": "disable",
        "appender.file.type": "RollingFile",
        "appender.file.name": "file",
        "appender.file.fileName": "${sys:anabranch.log}",
        "appender.file.filePattern": "${sys:anabranch.log}.%i",
        "appender.file.layout.type": "PatternLayout",
        "appender.file.layout.pattern": "%d{yyyy-MM-dd'T'HH:mm:ss.SSS'Z'}{UTC} %-5p %c{1}: %m%n",
        "appender.file.policies.type": "Policies",
        "appender.file.policies.size.type": "SizeBasedTriggeringPolicy",
        "appender.file.policies.size.size": "5MB",
        "appender.file.strategy.type": "DefaultRolloverStrategy",
        "appender.file.strategy.max": "3",
        "rootLogger.level": "warn",
        "rootLogger.appenderRef.file.ref": "file",
        # One line at each start and stop, so that the log tells when the broker was there.
        "logger.lifecycle.name": "kafka.server.KafkaRaftServer",
        "logger.lifecycle.level": "info",
    }


def render(properties: Mapping[str, str]) -> str:
    """A Java properties file. All values are ours and plain ASCII without backslashes, so nothing is escaped."""
    return "".join(f"{key}={value}\n" for key, value in properties.items())
