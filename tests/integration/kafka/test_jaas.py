"""Passwords with awkward characters, as the Java client itself reads them out of the line we write."""

from __future__ import annotations

from typing import Any

import pytest
from tests.fixtures.spark import SparkForTests

from anabranch.adapters.kafka.access import Login

pytestmark = pytest.mark.spark

AWKWARD = [
    "plain",
    'say "hello"',
    "back\\slash",
    "ends with a backslash\\",
    'both \\" at once',
    "two\nlines",
    "carriage\rreturn",
    'x"; org.example.EvilModule required y="',
    "semicolon; equals= {braces}",
    "${env:NOT_EXPANDED} $1 %s",
    "a // comment and /* another */ and # one more",
    "tab\tand ünïcödé ✓",
]


@pytest.mark.parametrize("secret", AWKWARD)
@pytest.mark.parametrize(
    ("mechanism", "name", "word"),
    [
        ("SCRAM-SHA-512", "username", "password"),
        ("PLAIN", "username", "password"),
        ("OAUTHBEARER", "clientId", "clientSecret"),
    ],
)
def test_java_reads_back_what_was_written(
    spark: SparkForTests, mechanism: str, name: str, word: str, secret: str
) -> None:
    login = Login("SASL_SSL", mechanism, f"ann {secret}", secret)

    modules = _parsed(spark, login.java()["sasl.jaas.config"])

    assert [dict(options) for options in modules] == [{name: f"ann {secret}", word: secret}]


def _parsed(spark: SparkForTests, line: str) -> list[Any]:
    """The options of every login module in the line, by Kafka's own parser."""
    jvm: Any = spark.session._jvm
    password = jvm.org.apache.kafka.common.config.types.Password(line)
    context = jvm.org.apache.kafka.common.security.JaasContext.loadClientContext({"sasl.jaas.config": password})
    return [entry.getOptions() for entry in context.configurationEntries()]
