"""A context's settings as they reach the adapters, secrets revealed, the environment's overrides included."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import make_url
from tests.fixtures.project import no_connection

from anabranch.adapters.embedded.errors import StackDownError
from anabranch.adapters.sql.store import StoreAbsentError
from anabranch.app.control_database import control_database_url
from anabranch.app.project_context import ProjectContext, open_project
from anabranch.project.findings import BadFilesError
from anabranch.project.location import ProjectNotFoundError
from anabranch.project.secrets import SecretMissingError

PROJECT = """\
apiVersion: anabranch/v1
kind: Project
metadata: {name: shop}
spec:
  defaultContext: dev
  contexts:
    dev: {}
    prod:
      kafka:
        bootstrap: broker.example.com:9093
        security:
          protocol: SASL_SSL
          mechanism: SCRAM-SHA-512
          username: replay
          password: ${env:KAFKA_PASSWORD}
        options:
          fetch.max.bytes: 1000
          max.poll.records: 5
          socket.timeout.ms: 6
          client.rack: ${env:RACK}
      spark: {master: "spark://spark.example.com:7077"}
      catalog:
        type: rest
        uri: https://catalog.example.com/api
        warehouse: s3://lake/warehouse
        token: ${env:CATALOG_TOKEN}
        options: {s3.region: eu-central-1, s3.secret-access-key: "${env:S3_SECRET}"}
      database:
        url: postgresql://anabranch@db.example.com:5432/runs
        password: ${file:database-password}
        sslMode: require
    team:
      catalog:
        type: jdbc
        uri: jdbc:postgresql://db.example.com:5432/iceberg
        warehouse: s3://lake/warehouse
        username: ice
        password: ${env:JDBC_PASSWORD}
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "anabranch.yaml").write_text(PROJECT)
    (tmp_path / "database-password").write_text("p@ss/word\n")
    values = {
        "KAFKA_PASSWORD": "kafka-pw",
        "RACK": "a",
        "CATALOG_TOKEN": "tok",
        "S3_SECRET": "s3",
        "JDBC_PASSWORD": "j@w",
    }
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("ANABRANCH_CONTEXT", raising=False)
    return tmp_path


def opened(project: Path, context: str | None = None) -> ProjectContext:
    with no_connection():
        return open_project(project, context)


def test_a_project_is_found_from_any_folder_in_it(project: Path) -> None:
    below = project / "a" / "b"
    below.mkdir(parents=True)
    assert opened(below).folder == project.resolve()
    assert opened(below).state == project.resolve() / ".anabranch"


def test_no_project_is_told(tmp_path: Path) -> None:
    with pytest.raises(ProjectNotFoundError):
        opened(tmp_path)


def test_the_context_is_the_flag_or_the_variable_or_the_default(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert opened(project).loaded.context == "dev"
    monkeypatch.setenv("ANABRANCH_CONTEXT", "team")
    assert opened(project).loaded.context == "team"
    assert opened(project, "prod").loaded.context == "prod"
    with pytest.raises(BadFilesError, match="no context 'pord'"):
        opened(project, "pord")


def test_each_kafka_client_gets_its_own_options_and_the_login(project: Path) -> None:
    kafka = opened(project, "prod").kafka
    client, spark = kafka.client("me"), kafka.spark()
    assert client["bootstrap.servers"] == "broker.example.com:9093"
    assert (client["sasl.username"], client["sasl.password"]) == ("replay", "kafka-pw")
    assert 'password="kafka-pw"' in spark["sasl.jaas.config"]
    assert (client["client.rack"], spark["client.rack"]) == ("a", "a")
    assert (client["fetch.max.bytes"], spark["fetch.max.bytes"]) == ("1000", "1000")
    assert (client.get("max.poll.records"), spark["max.poll.records"]) == (None, "5")
    assert (client["socket.timeout.ms"], spark.get("socket.timeout.ms")) == ("6", None)


def test_an_embedded_kafka_that_is_down_is_told_with_the_command(project: Path) -> None:
    project_context = opened(project)
    with pytest.raises(StackDownError) as down:
        _ = project_context.kafka
    assert "anabranch dev up" in down.value.remedy
    assert not project_context.state.exists()


def test_an_override_reaches_the_client(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANABRANCH_KAFKA__BOOTSTRAP", "other.example.com:1")
    monkeypatch.setenv("ANABRANCH_DATABASE__URL", "postgresql://eve@other.example.com/runs")
    project_context = opened(project, "prod")
    assert project_context.kafka.bootstrap == "other.example.com:1"
    assert control_database_url(project_context.loaded).host == "other.example.com"


def test_a_secret_that_is_not_there_is_told_by_its_reference(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KAFKA_PASSWORD")
    project_context = opened(project, "prod")  # nothing is revealed before it is used
    with pytest.raises(SecretMissingError, match="KAFKA_PASSWORD"):
        _ = project_context.kafka


def test_a_rest_catalog_is_the_same_for_python_and_spark(project: Path) -> None:
    catalog = opened(project, "prod").catalog
    assert catalog.python == {
        "type": "rest",
        "uri": "https://catalog.example.com/api",
        "warehouse": "s3://lake/warehouse",
        "token": "tok",
        "s3.region": "eu-central-1",
        "s3.secret-access-key": "s3",
    }
    options = catalog.spark_options()
    assert options["spark.sql.catalog.lake"] == "org.apache.iceberg.spark.SparkCatalog"
    assert options["spark.sql.catalog.lake.token"] == "tok"
    assert options["spark.sql.catalog.lake.s3.secret-access-key"] == "s3"


def test_a_jdbc_catalog_gets_its_login_on_both_sides(project: Path) -> None:
    catalog = opened(project, "team").catalog
    url = make_url(catalog.python["uri"])
    assert (url.drivername, url.username, url.password, url.host, url.port, url.database) == (
        "postgresql+psycopg",
        "ice",
        "j@w",
        "db.example.com",
        5432,
        "iceberg",
    )
    spark = catalog.spark_options()
    assert spark["spark.sql.catalog.lake.uri"] == "jdbc:postgresql://db.example.com:5432/iceberg"
    assert spark["spark.sql.catalog.lake.jdbc.user"] == "ice"
    assert spark["spark.sql.catalog.lake.jdbc.password"] == "j@w"


def test_the_embedded_catalog_is_made_on_first_use(project: Path) -> None:
    project_context = opened(project)
    assert not project_context.state.exists()
    assert project_context.catalog.open().list_namespaces() == []
    assert (project_context.state / "catalog.db").is_file()


def test_the_control_database_of_a_team(project: Path) -> None:
    url = control_database_url(opened(project, "prod").loaded)
    assert (url.drivername, url.username, url.password) == ("postgresql+psycopg", "anabranch", "p@ss/word")
    assert (url.host, url.port, url.database, dict(url.query)) == (
        "db.example.com",
        5432,
        "runs",
        {"sslmode": "require"},
    )


def test_looking_makes_no_database_and_writing_does(project: Path) -> None:
    project_context = opened(project)
    with pytest.raises(StoreAbsentError):
        project_context.store(create=False)
    assert not project_context.state.exists()
    with project_context.store() as store:
        assert store.reader.audit() == []
    with project_context.store(create=False) as again:
        assert again.reader.audit() == []
