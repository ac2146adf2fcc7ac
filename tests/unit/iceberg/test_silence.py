"""A catalog that does not answer is told from one that refuses."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError, ServiceUnavailableError, UnauthorizedError
from requests.exceptions import ConnectionError as RequestConnectionError
from requests.exceptions import ReadTimeout
from sqlalchemy.exc import IntegrityError, OperationalError

from anabranch.adapters.iceberg.embedded import EmbeddedCatalog
from anabranch.adapters.iceberg.silence import answering, did_not_answer, is_silence

STATEMENT: tuple[str, dict[str, object], Exception] = ("SELECT 1", {}, Exception("secret in the text"))


@pytest.mark.parametrize(
    "error",
    [
        ConnectionRefusedError("refused"),
        TimeoutError("timed out"),
        RequestConnectionError("no route"),
        ReadTimeout("timed out"),
        ServiceUnavailableError("503"),
        OperationalError(*STATEMENT),
    ],
    ids=lambda error: type(error).__name__,
)
def test_no_answer(error: Exception) -> None:
    assert is_silence(error)


@pytest.mark.parametrize(
    "error",
    [
        NoSuchNamespaceError("shop"),
        NoSuchTableError("shop.orders"),
        UnauthorizedError("401"),
        IntegrityError(*STATEMENT),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_refusal_is_an_answer(error: Exception) -> None:
    assert not is_silence(error)


def test_the_error_names_the_kind_of_failure_and_not_its_text() -> None:
    error = did_not_answer("lake", OperationalError(*STATEMENT))
    assert "lake" in error.what
    assert "OperationalError" in error.what
    assert "secret" not in f"{error.what}{error.as_dict()}"


def test_a_catalog_without_the_namespace_answers(tmp_path: Path) -> None:
    embedded = EmbeddedCatalog.below(tmp_path)
    embedded.create()
    assert answering(embedded.catalog("lake"), "no_such_namespace")()


def test_a_catalog_whose_database_is_gone_does_not_answer(tmp_path: Path) -> None:
    embedded = EmbeddedCatalog.below(tmp_path / "below")
    assert not answering(embedded.catalog("lake"), "shop")()
