"""The lists of options that pass: each known to the client it goes to, and nothing dangerous below a prefix."""

from __future__ import annotations

from pathlib import Path

import confluent_kafka
import pytest
from pydantic_core import PydanticCustomError

from anabranch.project.model import Surroundings
from anabranch.project.options import catalog, kafka, spark
from anabranch.project.options.jaas import foreign_modules
from anabranch.project.options.passing import OptionCheck, holds_secret, pass_options
from anabranch.project.secrets import Secret
from anabranch.project.sections.kafka import KafkaSettings

SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"


@pytest.mark.parametrize("name", sorted(kafka.ALLOWED))
def test_librdkafka_is_given_only_options_it_knows(name: str, tmp_path: Path) -> None:
    found = KafkaSettings.model_validate({"options": {name: "no such value !"}}, context=Surroundings(tmp_path))
    assert (name in found.librdkafka_options) == (name not in kafka.JAVA_ONLY)
    assert (name in found.java_options) == (name not in kafka.LIBRDKAFKA_ONLY)
    try:
        confluent_kafka.Consumer({"group.id": "none", **found.librdkafka_options}).close()
        complaint = ""
    except confluent_kafka.KafkaException as error:
        complaint = str(error)
    assert "No such configuration property" not in complaint


def test_plain_values_pass_as_text_and_references_as_secrets(tmp_path: Path) -> None:
    options = {"fetch.min.bytes": 1048576, "check.crcs": True, "client.rack": "${env:RACK}"}
    passed = pass_options(options, kafka.check_kafka_option, tmp_path)
    assert passed == {
        "fetch.min.bytes": "1048576",
        "check.crcs": "true",
        "client.rack": Secret("${env:RACK}", tmp_path),
    }


def test_every_option_that_may_not_pass_is_named(tmp_path: Path) -> None:
    with pytest.raises(PydanticCustomError) as caught:
        pass_options({"group.id": "a", "fetch.min.bytes": 1, "made.up": 2}, kafka.check_kafka_option, tmp_path)
    assert caught.value.context is not None
    assert [problem.at for problem in caught.value.context["problems"]] == [("group.id",), ("made.up",)]


@pytest.mark.parametrize(
    "name",
    [
        "ssl.keystore.password",
        "sasl.jaas.config",
        "s3.secret-access-key",
        "s3.access-key-id",
        "s3.session-token",
        "s3.sse.key",
        "adls.account-key",
        "adls.sas-token",
        "gcs.oauth2.token",
        "spark.hadoop.fs.s3a.secret.key",
        "spark.hadoop.fs.s3a.access.key",
        "spark.hadoop.fs.s3a.session.token",
        "spark.hadoop.fs.s3a.encryption.key",
        "spark.hadoop.fs.azure.account.key.lake.dfs.core.windows.net",
        "spark.hadoop.fs.azure.account.oauth2.client.secret",
        "spark.kubernetes.authenticate.submission.oauthToken",
    ],
)
def test_names_that_hold_secrets(name: str) -> None:
    assert holds_secret(name)


@pytest.mark.parametrize(
    "name", ["fetch.min.bytes", "spark.kubernetes.driver.secretKeyRef.TOKEN", "spark.executor.memory", "s3.region"]
)
def test_names_that_hold_none(name: str) -> None:
    assert not holds_secret(name)


@pytest.mark.parametrize("check", [kafka.check_kafka_option, spark.check_spark_option, catalog.check_catalog_option])
def test_an_allowed_secret_is_a_reference_or_refused(check: OptionCheck, tmp_path: Path) -> None:
    names = [name for name in kafka.ALLOWED | spark.ALLOWED | catalog.ALLOWED if holds_secret(name)]
    for name in [*names, "spark.hadoop.fs.s3a.secret.key"]:
        if check(name, "canary") is None:
            with pytest.raises(PydanticCustomError) as caught:
                pass_options({name: "canary"}, check, tmp_path)
            assert "canary" not in str(caught.value.context)


@pytest.mark.parametrize("prefix", spark.PREFIXES)
@pytest.mark.parametrize(
    "tail", ["impl", "some.class", "a.provider", "extraJavaOptions", "listeners", "failOnDataLoss"]
)
def test_no_prefix_lets_code_through(prefix: str, tail: str) -> None:
    assert spark.check_spark_option(prefix + tail, "x") is not None


@pytest.mark.parametrize(
    "name",
    [
        "spark.sql.adaptive.customCostEvaluatorClass",
        "spark.kubernetes.driver.pod.featureSteps",
        "spark.kubernetes.allocation.pods.allocator",
        "spark.hadoop.fs.s3a.delegation.token.binding",
        "spark.hadoop.fs.s3a.audit.service.classname",
        "spark.hadoop.fs.s3a.custom.signers",
        "spark.hadoop.fs.azure.account.oauth.provider.type.lake.dfs.core.windows.net",
        "spark.shuffle.push.server.mergedShuffleFileManagerImpl",
        "spark.shuffle.manager",
    ],
)
def test_options_below_a_prefix_that_load_code_do_not_pass(name: str) -> None:
    problem = spark.check_spark_option(name, "com.example.Evil")
    assert problem is not None
    assert "loads code" in problem.what


@pytest.mark.parametrize(
    "name",
    [
        "spark.kubernetes.container.image",
        "spark.kubernetes.namespace",
        "spark.dynamicAllocation.maxExecutors",
        "spark.hadoop.fs.s3a.endpoint",
        "spark.hadoop.fs.s3a.path.style.access",
        "spark.sql.adaptive.enabled",
        "spark.sql.shuffle.partitions",
    ],
)
def test_ordinary_options_pass(name: str) -> None:
    assert spark.check_spark_option(name, "x") is None


@pytest.mark.parametrize("text", [f"{SCRAM} required;", f'{SCRAM} required password="a;b";', "${env:JAAS}"])
def test_known_login_modules(text: str) -> None:
    assert foreign_modules(text) == ()


@pytest.mark.parametrize(
    "text",
    [
        "com.example.Evil required;",
        f"{SCRAM} required; com.example.Evil required;",
        f'{SCRAM} required a="b"; "com.example.Evil" required;',
        f"{SCRAM} required // \n; com.example.Evil required;",
        f'{SCRAM} required a="unclosed; com.example.Evil required;',
        f'{SCRAM} required /* " */; com.example.Evil required; /* " */',
        f"{SCRAM}x required;",
        "${env:JAAS} com.example.Evil required;",
    ],
)
def test_foreign_login_modules(text: str) -> None:
    assert foreign_modules(text)
