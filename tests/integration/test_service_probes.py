"""Whether a service answers, asked of a real catalog and control database behind a relay, and of real ports."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import URL
from tests.fixtures.relay import Relay, relay
from tests.integration.promote.shop import Shop

from anabranch.adapters.iceberg.catalog import CatalogUnreachableError, IcebergCatalog, jdbc
from anabranch.adapters.iceberg.silence import answering as catalog_answering
from anabranch.adapters.kafka.answering import answering as kafka_answering
from anabranch.adapters.kafka.answering import require_answer
from anabranch.adapters.kafka.topics import KafkaUnreachableError
from anabranch.adapters.sql.store import open_store
from anabranch.replay.service_reports import database_answers
from anabranch.runs.run_lease import RunLease, acquire_run_lease

TTL = timedelta(seconds=3)


@pytest.fixture
def away(postgres_database: URL) -> Iterator[Relay]:
    with relay(f"{postgres_database.query['host']}/.s.PGSQL.5432") as made:
        yield made


@pytest.fixture
def lake(postgres_database: URL, away: Relay, tmp_path: Path) -> IcebergCatalog:
    uri = f"jdbc:postgresql://127.0.0.1:{away.port}/{postgres_database.database}"
    return jdbc("lake", uri, tmp_path.as_uri(), str(postgres_database.username), None, {})


def test_a_catalog_that_is_away_does_not_answer_and_one_that_refuses_does(lake: IcebergCatalog, away: Relay) -> None:
    assert catalog_answering(lake, "nobody")(), "that there is no such namespace is an answer"
    away.go_away()
    assert not catalog_answering(lake, "nobody")()
    away.return_()
    assert catalog_answering(lake, "nobody")()


def test_a_control_database_that_is_away_does_not_answer_and_the_lease_outlives_it(
    postgres_database: URL, away: Relay, tmp_path: Path
) -> None:
    url = f"postgresql://{postgres_database.username}@127.0.0.1:{away.port}/{postgres_database.database}"
    shop = Shop(tmp_path, lake_of(tmp_path), open_store(url))
    shop.submit_validated()
    with acquire_run_lease(shop.store, "run1", holder="driver", actor="ann", ttl=TTL) as lease:
        assert database_answers(lease)
        away.go_away()
        assert not database_answers(lease)
        away.return_()
        assert database_answers(lease)
        _require_renewed(lease)
    shop.close()


def test_a_table_whose_catalog_is_away_is_an_error_that_names_the_catalog(lake: IcebergCatalog, away: Relay) -> None:
    from anabranch.adapters.iceberg.target import IcebergTarget

    opened = lake.open()
    away.go_away()
    with pytest.raises(CatalogUnreachableError) as silent:
        IcebergTarget(opened, "shop.orders").load()
    assert "The catalog lake did not answer" in silent.value.what
    opened.close()


def test_a_broker_that_is_not_there_does_not_answer() -> None:
    with socket.create_server(("127.0.0.1", 0)) as bound:
        port = bound.getsockname()[1]
    client = {"bootstrap.servers": f"127.0.0.1:{port}", "client.id": "t"}
    assert not kafka_answering(client, seconds=1.0)()
    with pytest.raises(KafkaUnreachableError) as silent:
        require_answer(client)
    assert f"127.0.0.1:{port}" in silent.value.what


def test_a_broker_that_accepts_and_says_nothing_does_not_answer() -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        client = {"bootstrap.servers": f"127.0.0.1:{mute.getsockname()[1]}", "client.id": "t"}
        assert not kafka_answering(client, seconds=1.0)()


def lake_of(folder: Path) -> IcebergCatalog:
    from anabranch.adapters.iceberg.embedded import EmbeddedCatalog

    embedded = EmbeddedCatalog.below(folder)
    embedded.create()
    return embedded.catalog("lake")


def _require_renewed(lease: RunLease) -> None:
    """The lease is renewed again, and still under the same epoch."""
    from tests.fixtures.broker import eventually

    before = lease.reader.lease(lease.run_id).expires_at
    eventually(lambda: lease.reader.lease(lease.run_id).expires_at != before)
    lease.check_epoch()
