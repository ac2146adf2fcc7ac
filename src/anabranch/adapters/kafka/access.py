"""Connection settings of a Kafka cluster, in the form of each client: librdkafka, Java and kafka-python."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Login:
    """Security settings with secrets in clear text: never print one."""

    protocol: str
    mechanism: str | None = None
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    token_endpoint: str | None = None
    ca_file: str | None = None
    cert_file: str | None = None
    key_file: str | None = None
    key_password: str | None = field(default=None, repr=False)

    def librdkafka(self) -> dict[str, str]:
        oauth = self.mechanism == "OAUTHBEARER"
        settings = {
            "security.protocol": self.protocol,
            "sasl.mechanism": self.mechanism,
            "ssl.ca.location": self.ca_file,
            "ssl.certificate.location": self.cert_file,
            "ssl.key.location": self.key_file,
            "ssl.key.password": self.key_password,
            "sasl.oauthbearer.method": "oidc" if oauth else None,
            "sasl.oauthbearer.token.endpoint.url": self.token_endpoint,
            "sasl.oauthbearer.client.id" if oauth else "sasl.username": self.username,
            "sasl.oauthbearer.client.secret" if oauth else "sasl.password": self.password,
        }
        return {key: value for key, value in settings.items() if value is not None}

    def java(self) -> dict[str, str]:
        settings = {
            "security.protocol": self.protocol,
            "sasl.mechanism": self.mechanism,
            "sasl.jaas.config": self._jaas(),
            "sasl.oauthbearer.token.endpoint.url": self.token_endpoint,
            "ssl.truststore.type": "PEM" if self.ca_file else None,
            "ssl.truststore.location": self.ca_file,
            "ssl.keystore.type": "PEM" if self.key_file else None,
            "ssl.keystore.certificate.chain": _text(self.cert_file),
            "ssl.keystore.key": _text(self.key_file),
            "ssl.key.password": self.key_password,
        }
        return {key: value for key, value in settings.items() if value is not None}

    def kafka_python(self) -> dict[str, object]:
        """Does not support OAUTHBEARER: this client cannot fetch a token."""
        settings = {
            "security_protocol": self.protocol,
            "sasl_mechanism": self.mechanism,
            "sasl_plain_username": self.username,
            "sasl_plain_password": self.password,
            "ssl_cafile": self.ca_file,
            "ssl_certfile": self.cert_file,
            "ssl_keyfile": self.key_file,
            "ssl_password": self.key_password,
        }
        return {key: value for key, value in settings.items() if value is not None}

    def _jaas(self) -> str | None:
        security = "org.apache.kafka.common.security"
        match self.mechanism:
            case None:
                return None
            case "PLAIN":
                module, user, secret = f"{security}.plain.PlainLoginModule", "username", "password"
            case "OAUTHBEARER":
                module, user, secret = (
                    f"{security}.oauthbearer.OAuthBearerLoginModule",
                    "clientId",
                    "clientSecret",
                )
            case _:
                module, user, secret = f"{security}.scram.ScramLoginModule", "username", "password"
        return f"{module} required {user}={_quoted(self.username)} {secret}={_quoted(self.password)};"


@dataclass(frozen=True)
class KafkaAccess:
    """One cluster. `librdkafka` and `java` are tuning options that were checked against the list of allowed ones."""

    bootstrap: str
    login: Login | None = None
    librdkafka: Mapping[str, str] = field(default_factory=dict, repr=False)
    java: Mapping[str, str] = field(default_factory=dict, repr=False)

    def client(self, client_id: str) -> dict[str, str]:
        """Settings of the C client (librdkafka)."""
        login = self.login.librdkafka() if self.login else {}
        return {**self.librdkafka, **login, "bootstrap.servers": self.bootstrap, "client.id": client_id}

    def kafka_python(self, client_id: str) -> dict[str, object]:
        """Settings of the pure Python client."""
        login = self.login.kafka_python() if self.login else {}
        checks_host = self.librdkafka.get("ssl.endpoint.identification.algorithm", "https") == "https"
        servers = self.bootstrap.split(",")
        return {**login, "ssl_check_hostname": checks_host, "bootstrap_servers": servers, "client_id": client_id}

    def spark(self) -> dict[str, str]:
        """Settings of Spark's Java client, without bootstrap servers and client id, which the reader sets."""
        return {**self.java, **(self.login.java() if self.login else {})}


def _quoted(text: str | None) -> str:
    """A quoted JAAS value. An unescaped quote, backslash or line break in a password could add login modules.

    Kafka parses the line with Java's StreamTokenizer, which also ends a quoted word at a line break.
    """
    return '"' + "".join(_ESCAPES.get(character, character) for character in text or "") + '"'


_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r"}


def _text(path: str | None) -> str | None:
    if path is None:
        return None
    with open(path, encoding="utf-8") as file:  # noqa: PTH123
        return file.read()
