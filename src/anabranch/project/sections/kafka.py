"""The `kafka` section: brokers, authentication and tuning."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, WithJsonSchema, model_validator

from anabranch.project.model import Part, Switch, Words, surroundings
from anabranch.project.options.kafka import JAVA_ONLY, LIBRDKAFKA_ONLY, check_kafka_option
from anabranch.project.options.passing import OptionValue, pass_options
from anabranch.project.refusals import Problem, refusal, refuse
from anabranch.project.secrets import Secret
from anabranch.project.urls import HOST, split_url

EMBEDDED = "embedded"


def _bootstrap(text: str) -> str:
    if text == EMBEDDED:
        return text
    for server in text.split(","):
        match = re.fullmatch(rf"{HOST}:([0-9]{{1,5}})", server.strip())
        if match is None or not 1 <= int(match[3]) <= 65535:
            # The value is not repeated: it may contain a password before the host.
            raise refuse(
                "a broker must be host:port", "embedded, or broker-1.example.com:9092,broker-2.example.com:9092"
            )
    return ",".join(server.strip() for server in text.split(","))


def _token_endpoint(text: str) -> str:
    split_url(text, ("https",), "https://login.example.com/oauth2/token")
    return text


def _options(value: object, info: ValidationInfo) -> dict[str, OptionValue]:
    return pass_options(value, check_kafka_option, surroundings(info).folder)


class KafkaSecurity(Part):
    """Authentication and TLS of the connection to the brokers."""

    protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = Field(
        description="Security protocol of the connection.", examples=["SASL_SSL"]
    )
    mechanism: Literal["SCRAM-SHA-256", "SCRAM-SHA-512", "PLAIN", "OAUTHBEARER"] | None = Field(
        default=None, description="SASL mechanism, with SASL_PLAINTEXT or SASL_SSL.", examples=["SCRAM-SHA-512"]
    )
    username: Words | None = Field(
        default=None,
        description="User name; the client id with OAUTHBEARER.",
        examples=["anabranch-replay"],
    )
    password: Secret | None = Field(
        default=None,
        description="Reference to the password; to the client secret with OAUTHBEARER.",
        examples=["${env:KAFKA_PASSWORD}"],
    )
    token_endpoint: Annotated[str, AfterValidator(_token_endpoint)] | None = Field(
        default=None,
        description="Token endpoint of OAUTHBEARER; https only.",
        examples=["https://login.example.com/oauth2/token"],
    )
    ca_file: Words | None = Field(
        default=None,
        description="PEM file of the authority that signed the brokers' certificates.",
        examples=["/etc/kafka/ca.pem"],
    )
    cert_file: Words | None = Field(
        default=None,
        description="PEM file of this client's certificate, for mutual TLS.",
        examples=["/etc/kafka/client.pem"],
    )
    key_file: Words | None = Field(
        default=None,
        description="PEM file of this client's private key, for mutual TLS.",
        examples=["/etc/kafka/client.key"],
    )
    key_password: Secret | None = Field(
        default=None,
        description="Reference to the password of keyFile, if it is encrypted.",
        examples=["${env:KAFKA_KEY_PASSWORD}"],
    )

    @model_validator(mode="after")
    def _consistent(self) -> KafkaSecurity:
        problems = [*self._login_problems(), *self._tls_problems()]
        if problems:
            raise refusal(*problems)
        return self

    def _login_problems(self) -> Iterator[Problem]:
        login = {"username": self.username, "password": self.password}
        if not self.protocol.startswith("SASL_"):
            stray = {"mechanism": self.mechanism, **login, "tokenEndpoint": self.token_endpoint}
            for key in (key for key, value in stray.items() if value is not None):
                yield Problem(
                    f"{key} has no effect with protocol {self.protocol}", f"protocol: SASL_SSL, or no {key}", (key,)
                )
            return
        if self.mechanism is None:
            yield Problem(f"protocol {self.protocol} needs a mechanism", "mechanism: SCRAM-SHA-512")
            return
        for key in (key for key, value in login.items() if value is None):
            example = "${env:KAFKA_PASSWORD}" if key == "password" else "anabranch-replay"
            yield Problem(f"mechanism {self.mechanism} needs a {key}", f"{key}: {example}")
        if self.mechanism == "OAUTHBEARER" and self.token_endpoint is None:
            yield Problem(
                "mechanism OAUTHBEARER needs a tokenEndpoint", "tokenEndpoint: https://login.example.com/token"
            )
        if self.mechanism != "OAUTHBEARER" and self.token_endpoint is not None:
            yield Problem("tokenEndpoint needs mechanism OAUTHBEARER", "no tokenEndpoint", ("tokenEndpoint",))

    def _tls_problems(self) -> Iterator[Problem]:
        files = {"caFile": self.ca_file, "certFile": self.cert_file, "keyFile": self.key_file}
        given = {**files, "keyPassword": self.key_password}
        if not self.protocol.endswith("SSL"):
            for key in (key for key, value in given.items() if value is not None):
                yield Problem(
                    f"{key} has no effect with protocol {self.protocol}", f"a protocol with SSL, or no {key}", (key,)
                )
            return
        if (self.cert_file is None) != (self.key_file is None):
            present, absent = ("certFile", "keyFile") if self.key_file is None else ("keyFile", "certFile")
            yield Problem(f"{present} needs {absent}", f"{absent}: /etc/kafka/client.pem", (present,))
        if self.key_password is not None and self.key_file is None:
            yield Problem("keyPassword needs a keyFile", "keyFile: /etc/kafka/client.key", ("keyPassword",))


class KafkaSettings(Part):
    """The Kafka cluster."""

    bootstrap: Annotated[str, AfterValidator(_bootstrap)] = Field(
        default=EMBEDDED,
        description="`embedded` for the broker of `anabranch dev up`, or host:port, several separated by commas.",
        examples=["broker-1.example.com:9092,broker-2.example.com:9092"],
    )
    security: KafkaSecurity | None = Field(
        default=None,
        description="Authentication and TLS; left out for a broker without them.",
        examples=[{"protocol": "SSL"}],
    )
    options: Annotated[
        Mapping[str, OptionValue],
        BeforeValidator(_options),
        WithJsonSchema({"type": "object", "additionalProperties": {"type": ["string", "number", "boolean"]}}),
    ] = Field(
        default_factory=dict,
        description="Tuning options of the Kafka client, from an allowlist.",
        examples=[{"fetch.min.bytes": 1048576}],
    )

    quota: Switch = Field(
        default=True,
        description="Whether a replay with a byte rate sets a quota at the brokers for its own client id while it "
        "reads. false: only the client limits it",
        examples=[True],
    )
    quota_user: Words | None = Field(
        default=None,
        description="The user of that quota, as the brokers name this client. Left out: the SASL user name, or "
        "ANONYMOUS without authentication; with certificates or tokens the quota is of the client id alone.",
        examples=["CN=anabranch,OU=data,O=example"],
    )

    @model_validator(mode="after")
    def _embedded_has_no_login(self) -> KafkaSettings:
        if self.embedded and self.security is not None:
            raise refuse(
                "the embedded broker has no authentication", "bootstrap: host:port, or no security", "security"
            )
        return self

    @property
    def embedded(self) -> bool:
        return self.bootstrap == EMBEDDED

    @property
    def servers(self) -> tuple[str, ...]:
        """Host and port of each broker; empty for the embedded one, whose port is chosen at start."""
        return () if self.embedded else tuple(self.bootstrap.split(","))

    @property
    def java_options(self) -> dict[str, OptionValue]:
        """Options for the Java client, which Spark uses."""
        return {name: value for name, value in self.options.items() if name not in LIBRDKAFKA_ONLY}

    @property
    def librdkafka_options(self) -> dict[str, OptionValue]:
        """Options for librdkafka, which refuses unknown ones."""
        return {name: value for name, value in self.options.items() if name not in JAVA_ONLY}
