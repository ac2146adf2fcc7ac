"""A canary in every secret field appears nowhere: no word, file, database row or process list gives it away."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest
from tests.fixtures.canaries import Place, Said, settle
from tests.fixtures.leaks import command_lines, files_below, leaked, leaks_below

pytestmark = pytest.mark.long

CONTEXTS = """\
    # Every address is a closed port of this machine: connecting fails at once, with the secrets already in use.
    scram:
      kafka:
        bootstrap: 127.0.0.1:9
        security:
          protocol: SASL_SSL
          mechanism: SCRAM-SHA-512
          username: replay
          password: ${env:SCRAM_PASSWORD}
        options: {client.rack: "${env:OPTION_BY_REFERENCE}"}
      spark:
        master: spark://127.0.0.1:9
        options:
          spark.hadoop.fs.s3a.access.key: ${env:S3A_ACCESS_KEY}
          spark.hadoop.fs.s3a.secret.key: ${env:S3A_SECRET_KEY}
      catalog:
        type: rest
        uri: http://127.0.0.1:9/api
        warehouse: s3://lake/warehouse
        token: ${env:CATALOG_TOKEN}
        options:
          s3.access-key-id: ${env:S3_ACCESS_KEY}
          s3.secret-access-key: ${env:S3_SECRET_KEY}
          s3.session-token: ${env:S3_SESSION_TOKEN}
      database:
        url: postgresql://anabranch@127.0.0.1:9/runs
        password: ${env:DATABASE_PASSWORD}
    oauth:
      kafka:
        bootstrap: 127.0.0.1:9
        security:
          protocol: SASL_SSL
          mechanism: OAUTHBEARER
          username: client
          password: ${env:OAUTH_SECRET}
          tokenEndpoint: https://127.0.0.1:9/token
      catalog:
        type: rest
        uri: https://127.0.0.1:9/api
        credential: ${env:CATALOG_CREDENTIAL}
      database:
        url: postgresql://anabranch@127.0.0.1:9/runs
        password: ${file:__SECRETS__/database-password}
        sslMode: require
    mtls:
      kafka:
        bootstrap: 127.0.0.1:9
        security:
          protocol: SSL
          certFile: __SECRETS__/not-a-certificate.pem
          keyFile: __SECRETS__/not-a-key.pem
          keyPassword: ${env:KEY_PASSWORD}
      catalog:
        type: jdbc
        uri: jdbc:postgresql://127.0.0.1:9/iceberg
        warehouse: s3://lake/warehouse
        username: iceberg
        password: ${env:JDBC_PASSWORD}
"""


def commands() -> Iterator[tuple[str, ...]]:
    """Every way to get at a secret that needs no server, with tracebacks and without."""
    quick = ("--skip", "jars", "--skip", "memory", "--skip", "disk")
    contract = "contracts/fix-currency.yaml"
    for debug in ((), ("--debug",)):
        yield *debug, "schema"
        yield *debug, "dev", "status", "-o", "json"
        yield *debug, "check", "--context", "scram", "-o", "json"
        for context in ("scram", "oauth", "mtls"):
            skipped = quick if context == "scram" else (*quick, "--skip", "spark")
            yield *debug, "doctor", "--context", context, *skipped, "-o", "json" if debug else "table"
        yield *debug, "plan", "--context", "scram", "-f", contract
        yield *debug, "audit", "verify", "--context", "scram"
        yield *debug, "audit", "verify", "--context", "oauth"


@dataclass(frozen=True)
class Evidence:
    place: Place
    said: list[Said]
    command_lines: set[str]


@pytest.fixture(scope="module")
def evidence(tmp_path_factory: pytest.TempPathFactory) -> Evidence:
    """All commands run, several at a time since they mostly wait."""
    place = settle(tmp_path_factory.mktemp("canary"), CONTEXTS)
    with command_lines() as seen, ThreadPoolExecutor(6) as pool:
        said = list(pool.map(lambda arguments: place.run(*arguments), commands()))
    return Evidence(place, said, seen)


def test_the_commands_came_as_far_as_using_their_secrets(evidence: Evidence) -> None:
    """Otherwise the other tests would have nothing to find."""
    codes = {said.command: said.code for said in evidence.said}
    assert [command for command, code in codes.items() if "check" in command and code != 0] == []
    talking = [said for said in evidence.said if "doctor" in said.command]
    for said in talking:
        assert said.code == 1, said
        assert b"project.secret-missing" not in said.words, said
        assert b"127.0.0.1:9" in said.words, said
    assert all(code == 1 for command, code in codes.items() if "plan" in command), codes


def test_without_debug_nobody_sees_a_traceback(evidence: Evidence) -> None:
    plain = [said for said in evidence.said if "--debug" not in said.command]
    assert [said.command for said in plain if b"Traceback" in said.words] == []
    assert any(b"Traceback" in said.words for said in evidence.said if "--debug" in said.command)


def test_no_command_says_a_canary(evidence: Evidence) -> None:
    canaries = evidence.place.secrets.values.values()
    found = {said.command: leaked(said.words, canaries) for said in evidence.said}
    assert {command: names for command, names in found.items() if names} == {}


def test_no_file_keeps_a_canary(evidence: Evidence) -> None:
    place = evidence.place
    assert files_below(place.project)
    assert leaks_below(place.project, place.secrets.values.values()) == {}
    assert leaks_below(place.home, place.secrets.values.values()) == {}


def test_no_process_list_shows_a_canary(evidence: Evidence) -> None:
    canaries = evidence.place.secrets.values.values()
    assert any("anabranch doctor --context scram" in line for line in evidence.command_lines), "nobody was looking"
    assert [line for line in evidence.command_lines if leaked(line.encode(), canaries)] == []
