"""Distinguishes a catalog that does not answer from one that refuses a request."""

from __future__ import annotations

from collections.abc import Callable

from anabranch.adapters.iceberg.catalog import CatalogUnreachableError, IcebergCatalog


def is_silence(error: BaseException) -> bool:
    """Whether a catalog's client raised this because the catalog did not answer."""
    from pyiceberg.exceptions import ServerError, ServiceUnavailableError
    from requests.exceptions import ConnectionError as Unreachable
    from requests.exceptions import Timeout
    from sqlalchemy.exc import InterfaceError, OperationalError

    kinds = (OperationalError, InterfaceError, Unreachable, Timeout, ServiceUnavailableError, ServerError)
    return isinstance(error, (*kinds, ConnectionError, TimeoutError))


def did_not_answer(name: str, error: BaseException) -> CatalogUnreachableError:
    """The error of a request that only reads or only changes staging. Names the client's error without its text."""
    return CatalogUnreachableError(
        f"The catalog {name} did not answer ({type(error).__name__}).",
        state="Production unchanged by this request.",
        command="anabranch doctor",
        catalog=name,
    )


def answering(catalog: IcebergCatalog, namespace: str) -> Callable[[], bool]:
    """A probe that asks the catalog for one namespace. A refusal counts as an answer."""

    def probe() -> bool:
        try:
            opened = catalog.open()
        except CatalogUnreachableError:
            return False
        try:
            opened.load_namespace_properties(namespace)
        except Exception as error:
            return not is_silence(error)
        finally:
            opened.close()
        return True

    return probe
