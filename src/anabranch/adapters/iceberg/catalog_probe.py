"""Tries a catalog out: a scratch table, a branch on it, looked up afresh, and everything taken away again."""

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
    """What a catalog did with a scratch table. It took the table and its rows; otherwise there is no Trial."""

    branch_kept: bool
    """False where a catalog accepts a branch and forgets it: staging would be written to nowhere."""
    left_behind: tuple[str, ...]
    """What could not be removed again."""


def probe_catalog(catalog: IcebergCatalog, unique: str) -> CatalogProbe:
    """Write a table in a namespace of its own, branch it, and look for the branch through a fresh connection.

    Whatever happens on the way, the namespace, the table and their files are removed, and what resists is named.
    """
    opened = catalog.open()
    namespace = PREFIX + unique
    try:
        kept = _branch_comes_back(catalog, opened, f"{namespace}.probe")
    except Exception as error:
        left = _remove(catalog, opened, namespace)
        raise CatalogRefusedError(
            f"The catalog {catalog.name} did not let a scratch table be written" + _named(left),
            state="No table of yours was touched.",
            hint="let this user create and drop namespaces and tables, and write below the warehouse",
            catalog=catalog.name,
            left_behind=list(left),
        ) from error
    except BaseException:
        _remove(catalog, opened, namespace)
        raise
    return CatalogProbe(kept, _remove(catalog, opened, namespace))


def _branch_comes_back(catalog: IcebergCatalog, opened: Catalog, table: str) -> bool:
    import pyarrow as pa
    from pyiceberg.schema import Schema
    from pyiceberg.types import LongType, NestedField

    opened.create_namespace(table.split(".")[0])
    made = opened.create_table(table, Schema(NestedField(1, "n", LongType(), required=False)))
    made.append(pa.table({"n": pa.array([1], pa.int64())}))
    written = made.current_snapshot()
    if written is None:
        return False
    made.manage_snapshots().create_branch(written.snapshot_id, BRANCH).commit()
    # Through a fresh connection: the client that made the branch remembers it even if the catalog does not.
    found = catalog.open().load_table(table).metadata.refs.get(BRANCH)
    return found is not None and found.snapshot_id == written.snapshot_id


def _remove(catalog: IcebergCatalog, opened: Catalog, namespace: str) -> tuple[str, ...]:
    """Take away what is there of the scratch namespace. Returns the names of what is still there."""
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
        # The trial's own outcome is what the user must hear; what stays is named beside it.
        return False
    return True


def _local_folder(catalog: IcebergCatalog, namespace: str) -> Path | None:
    """Where PyIceberg puts a namespace's tables in a warehouse on this machine: purging leaves empty folders there."""
    warehouse = urlsplit(catalog.python.get("warehouse", ""))
    if warehouse.scheme != "file":
        return None
    return Path(unquote(warehouse.path)) / namespace


def _named(left: tuple[str, ...]) -> str:
    return f", and this is left: {', '.join(left)}." if left else "."
