"""Configuration and log settings of a broker. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from anabranch.adapters.embedded.state import Stack

HOST = "127.0.0.1"
"""The only address that is bound: the embedded broker has no authentication."""


def broker_properties(stack: Stack, node: int) -> dict[str, str]:
    """The configuration of one broker. Paths are relative to its working directory."""
    broker = next(b for b in stack.brokers if b.node == node)
    replicas = min(3, len(stack.brokers))
    in_sync = 2 if replicas == 3 else 1
    voters = ",".join(f"{b.node}@{HOST}:{b.ports.controller}" for b in stack.brokers)
    return {
        "process.roles": "broker,controller",
        "node.id": str(node),
        # Voters in the configuration instead of the metadata log, so that ports can change without reformatting.
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
        # A misspelled topic name must fail instead of creating a topic.
        "auto.create.topics.enable": "false",
        # Sample data has old timestamps: with Kafka's default of 7 days it would be deleted within minutes.
        "log.retention.ms": "-1",
        # A topic with a retention of its own deletes records on time; Kafka checks every 5 minutes by default.
        "log.retention.check.interval.ms": "5000",
        "group.initial.rebalance.delay.ms": "0",
        # The default of 50 partitions each only costs files and start-up time here.
        "offsets.topic.num.partitions": "5",
        "transaction.state.log.num.partitions": "5",
        "share.coordinator.state.topic.num.partitions": "5",
        # Kafka's default of 128 MB is a quarter of the heap.
        "log.cleaner.dedupe.buffer.size": str(16 * 1024 * 1024),
        # After SIGKILL the controller accepts the broker only when its former session has expired: measured 5 s with
        # these settings, 15 s with Kafka's default session of 9 s.
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
        # One line at each start and stop, so that the log shows when the broker ran.
        "logger.lifecycle.name": "kafka.server.KafkaRaftServer",
        "logger.lifecycle.level": "info",
    }


def render(properties: Mapping[str, str]) -> str:
    """A Java properties file. All values are ASCII without backslashes, so nothing is escaped."""
    return "".join(f"{key}={value}\n" for key, value in properties.items())
