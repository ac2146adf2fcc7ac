"""Allowed Kafka client options: tuning, and nothing that loads code, moves offsets or weakens security."""

from __future__ import annotations

import re

from anabranch.project.options.jaas import foreign_modules
from anabranch.project.options.passing import not_listed
from anabranch.project.refusals import Problem

BOTH = frozenset(
    {
        "check.crcs",
        "client.dns.lookup",
        "client.rack",
        "connections.max.idle.ms",
        "fetch.max.bytes",
        "fetch.min.bytes",
        "heartbeat.interval.ms",
        "max.partition.fetch.bytes",
        "max.poll.interval.ms",
        "metadata.max.age.ms",
        "reconnect.backoff.max.ms",
        "reconnect.backoff.ms",
        "retry.backoff.max.ms",
        "retry.backoff.ms",
        "session.timeout.ms",
        "socket.connection.setup.timeout.ms",
        "ssl.cipher.suites",
        "ssl.endpoint.identification.algorithm",
    }
)
JAVA_ONLY = frozenset(
    {
        "default.api.timeout.ms",
        "fetch.max.wait.ms",
        "max.poll.records",
        "receive.buffer.bytes",
        "request.timeout.ms",
        "send.buffer.bytes",
        "socket.connection.setup.timeout.max.ms",
        "ssl.enabled.protocols",
        "ssl.protocol",
    }
)
LIBRDKAFKA_ONLY = frozenset(
    {
        "api.version.request.timeout.ms",
        "broker.address.family",
        "broker.address.ttl",
        "fetch.error.backoff.ms",
        "fetch.queue.backoff.ms",
        "fetch.wait.max.ms",
        "message.max.bytes",
        "queued.max.messages.kbytes",
        "queued.min.messages",
        "receive.message.max.bytes",
        "socket.keepalive.enable",
        "socket.max.fails",
        "socket.nagle.disable",
        "socket.receive.buffer.bytes",
        "socket.send.buffer.bytes",
        "socket.timeout.ms",
        "topic.metadata.refresh.interval.ms",
    }
)
ALLOWED = BOTH | JAVA_ONLY | LIBRDKAFKA_ONLY

_REMOVE = "nothing: remove this line"
_SECURITY = "kafka.security with protocol, mechanism, username and password: ${env:NAME}"
_TLS = "kafka.security with caFile, certFile, keyFile (PEM) and keyPassword: ${env:NAME}"
_SAFE_LIVE = "Anabranch sets it itself, so that a replay never affects live consumers"

_REASONS: tuple[tuple[str, str, str], ...] = (
    (r"kafka\..*", "options are written without the prefix `kafka.`", "the name without it"),
    (r"bootstrap\.servers|metadata\.broker\.list", "brokers have their own key", "kafka.bootstrap: host:port"),
    (r"config\.providers(\..*)?", "config providers read local files and variables (CVE-2024-31141)", _REMOVE),
    (
        r"sasl\.oauthbearer\..*url",
        "an unchecked OAuth URL can read files and reach internal hosts (CVE-2025-27817)",
        "kafka.security.tokenEndpoint: https://…",
    ),
    (r"group\.id|group\.instance\.id|group\.protocol.*", _SAFE_LIVE, "spec.consumerGroup in the pipeline"),
    (r"enable\.auto\.commit|auto\.commit\.interval\.ms|enable\.auto\.offset\.store", _SAFE_LIVE, _REMOVE),
    (r"auto\.offset\.reset|isolation\.level|client\.id|allow\.auto\.create\.topics", _SAFE_LIVE, _REMOVE),
    (r"transactional\.id|enable\.idempotence|acks", _SAFE_LIVE, _REMOVE),
    (r"failOnDataLoss", "without it lost data goes unnoticed; Anabranch sets it to true", _REMOVE),
    (r"sasl\..*|security\.protocol", "authentication has its own section", _SECURITY),
    (
        r"security\.providers|ssl\.engine\.factory\.class|ssl\.provider.*|ssl\.engine.*",
        "it loads code by name",
        _REMOVE,
    ),
    (r"ssl\..*(key|trust|ca|cert|crl).*", "certificates and keys have their own section", _TLS),
    (
        r"interceptor\.classes|metric\.reporters|.*\.class(es)?|.*\.class\..*|plugin\..*|.*deserializer|.*serializer"
        r"|partition\.assignment\.strategy|.*\.callback.*|.*_cb",
        "it loads code by name",
        _REMOVE,
    ),
)


def check_kafka_option(name: str, value: object) -> Problem | None:
    """Why a Kafka option is refused; None if it is allowed."""
    if name in ALLOWED:
        return None
    if name == "sasl.jaas.config":
        return _jaas_problem(value)
    for pattern, reason, write in _REASONS:
        if re.fullmatch(pattern, name, re.IGNORECASE):
            return Problem(f'the Kafka option "{name}" is refused: {reason}', write)
    return not_listed("Kafka", name, ALLOWED)


def _jaas_problem(value: object) -> Problem:
    """Refused in every form: Anabranch writes this line itself, for the Java and the C client.

    A foreign login module has its own message, because CVE-2023-25194 is exploited with one.
    """
    foreign = foreign_modules(value) if isinstance(value, str) else ()
    if foreign:
        what = "sasl.jaas.config names a login module other than SCRAM, PLAIN or OAUTHBEARER (CVE-2023-25194)"
    else:
        what = "sasl.jaas.config contains a password; Anabranch writes this line itself from kafka.security"
    return Problem(what, _SECURITY)
