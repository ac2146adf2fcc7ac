"""Tests a catalog with a scratch table and a branch, both removed afterwards."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from anabranch.adapters.iceberg.catalog import IcebergCatalog
from anabranch.errors import AnabranchError

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog

BRANCH = "doctor"
PREFIX = "anabranch_doctor_"


class CatalogRefusedError(AnabranchError):
    code = "catalog.refused"


@dataclass(frozen=True)
class CatalogProbe:
    """The result of a test in which the catalog accepted a scratch table and its rows."""

    branch_kept: bool
    """False if the catalog accepts a branch without storing it: staging would be lost."""
    left_behind: tuple[str, ...]
    """Names of scratch resources that could not be removed."""


def probe_catalog(catalog: IcebergCatalog, unique: str) -> CatalogProbe:
    """Write a table in a scratch namespace, create a branch, and look it up through a new connection.

    Namespace, table and files are removed in every case; those that cannot be removed are reported.
    Raises CatalogRefusedError if the table could not be written.
    """
    opened = catalog.open()
    namespace = PREFIX + unique
    try:
        branch_kept = _branch_is_stored(catalog, opened, f"{namespace}.probe")
    except Exception as error:
        left = _remove(catalog, opened, namespace)
        raise CatalogRefusedError(
            f"Catalog {catalog.name} refused to write a scratch table" + _named(left),
            state="No existing table was changed.",
            hint="Grant this user permission to create and drop namespaces and tables and to write to the warehouse",
            catalog=catalog.name,
            left_behind=list(left),
        ) from error
    except BaseException:
        _remove(catalog, opened, namespace)
        raise
    return CatalogProbe(branch_kept, _remove(catalog, opened, namespace))


def _branch_is_stored(catalog: IcebergCatalog, opened: Catalog, table: str) -> bool:
    import pyarrow as pa
    from pyiceberg.schema import Schema
    from pyiceberg.types import LongType, NestedField

    opened.create_namespace(table.split(".")[0])
    probe_table = opened.create_table(table, Schema(NestedField(1, "n", LongType(), required=False)))
    probe_table.append(pa.table({"n": pa.array([1], pa.int64())}))
    written = probe_table.current_snapshot()
    if written is None:
        return False
    probe_table.manage_snapshots().create_branch(written.snapshot_id, BRANCH).commit()
    # Through a new connection: the client that created the branch has it cached even if the catalog does not.
    found = catalog.open().load_table(table).metadata.refs.get(BRANCH)
    return found is not None and found.snapshot_id == written.snapshot_id


def _remove(catalog: IcebergCatalog, opened: Catalog, namespace: str) -> tuple[str, ...]:
    """Remove the scratch namespace. Returns the names of what could not be removed."""
    from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError

    table = f"{namespace}.probe"
    # A catalog that may not delete files still drops the entry.
    table_gone = _gone(lambda: opened.purge_table(table), NoSuchTableError) or _gone(
        lambda: opened.drop_table(table), NoSuchTableError
    )
    namespace_gone = _gone(lambda: opened.drop_namespace(namespace), NoSuchNamespaceError)
    folder = _local_folder(catalog, namespace)
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)
    folder_gone = folder is None or not folder.exists()
    things = ((f"table {table}", table_gone), (f"namespace {namespace}", namespace_gone), (str(folder), folder_gone))
    return tuple(name for name, gone in things if not gone)


def _gone(remove: Callable[[], None], missing: type[Exception]) -> bool:
    try:
        remove()
    except missing:
        return True
    except Exception:
        # The test's own error is reported; what is left is named with it.
        return False
    return True


def _local_folder(catalog: IcebergCatalog, namespace: str) -> Path | None:
    """The namespace's folder in a local warehouse, which purging leaves behind empty."""
    warehouse = urlsplit(catalog.python.get("warehouse", ""))
    if warehouse.scheme != "file":
        return None
    return Path(unquote(warehouse.path)) / namespace


def _named(left: tuple[str, ...]) -> str:
    return f"; not removed: {', '.join(left)}." if left else "."
