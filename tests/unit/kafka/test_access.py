"""One set of Kafka settings, as three clients want to be told: the C one, Spark's Java one and the Python one."""

from __future__ import annotations

from pathlib import Path

import pytest

from anabranch.adapters.kafka.access import KafkaAccess, Login

SECURITY = "org.apache.kafka.common.security"


def test_a_cluster_that_asks_for_nothing() -> None:
    access = KafkaAccess("a:1,b:2", None, {"socket.timeout.ms": "9"}, {"max.poll.records": "7"})
    assert access.client("me") == {"socket.timeout.ms": "9", "bootstrap.servers": "a:1,b:2", "client.id": "me"}
    assert access.spark() == {"max.poll.records": "7"}
    assert access.kafka_python("me") == {
        "bootstrap_servers": ["a:1", "b:2"],
        "client_id": "me",
        "ssl_check_hostname": True,
    }


@pytest.mark.parametrize(
    ("mechanism", "module"),
    [
        ("SCRAM-SHA-512", "scram.ScramLoginModule"),
        ("SCRAM-SHA-256", "scram.ScramLoginModule"),
        ("PLAIN", "plain.PlainLoginModule"),
    ],
)
def test_a_name_and_a_password(mechanism: str, module: str) -> None:
    login = Login("SASL_SSL", mechanism, "ann", "pw", ca_file="/ca.pem")
    assert login.librdkafka() == {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": mechanism,
        "sasl.username": "ann",
        "sasl.password": "pw",
        "ssl.ca.location": "/ca.pem",
    }
    assert login.java() == {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": f'{SECURITY}.{module} required username="ann" password="pw";',
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": "/ca.pem",
    }
    assert login.kafka_python() == {
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": mechanism,
        "sasl_plain_username": "ann",
        "sasl_plain_password": "pw",
        "ssl_cafile": "/ca.pem",
    }


def test_a_client_that_gets_its_token_elsewhere() -> None:
    login = Login("SASL_SSL", "OAUTHBEARER", "ann", "pw", token_endpoint="https://login.example.com/token")
    assert login.librdkafka() == {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.client.id": "ann",
        "sasl.oauthbearer.client.secret": "pw",
        "sasl.oauthbearer.token.endpoint.url": "https://login.example.com/token",
    }
    java = login.java()
    assert java["sasl.oauthbearer.token.endpoint.url"] == "https://login.example.com/token"
    assert java["sasl.jaas.config"] == (
        f'{SECURITY}.oauthbearer.OAuthBearerLoginModule required clientId="ann" clientSecret="pw";'
    )


def test_certificates_on_both_sides(tmp_path: Path) -> None:
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    cert.write_text("CERT")
    key.write_text("KEY")
    login = Login("SSL", ca_file="/ca.pem", cert_file=str(cert), key_file=str(key), key_password="kp")
    assert login.librdkafka() == {
        "security.protocol": "SSL",
        "ssl.ca.location": "/ca.pem",
        "ssl.certificate.location": str(cert),
        "ssl.key.location": str(key),
        "ssl.key.password": "kp",
    }
    assert login.java() == {
        "security.protocol": "SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": "/ca.pem",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.certificate.chain": "CERT",
        "ssl.keystore.key": "KEY",
        "ssl.key.password": "kp",
    }


def test_the_login_wins_over_options_and_the_address_over_both() -> None:
    login = Login("SASL_SSL", "PLAIN", "ann", "pw")
    access = KafkaAccess("a:1", login, {"security.protocol": "PLAINTEXT", "bootstrap.servers": "evil:1"})
    assert access.client("me")["security.protocol"] == "SASL_SSL"
    assert access.client("me")["bootstrap.servers"] == "a:1"


def test_host_names_are_checked_unless_an_option_says_otherwise() -> None:
    lenient = KafkaAccess("a:1", Login("SSL"), {"ssl.endpoint.identification.algorithm": "none"})
    assert lenient.kafka_python("me")["ssl_check_hostname"] is False


def test_printing_one_shows_no_secret() -> None:
    login = Login("SASL_SSL", "PLAIN", "ann", "canary-1", key_password="canary-2")
    access = KafkaAccess("a:1", login, {"x": "canary-3"}, {"y": "canary-4"})
    assert "canary" not in f"{access!r} {access} {login!r} {login}"
