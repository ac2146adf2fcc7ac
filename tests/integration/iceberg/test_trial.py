"""A catalog tried out: whether it keeps branches, and that nothing of the trial stays, wherever it fails."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table.update import SetSnapshotRefUpdate, update_table_metadata

from anabranch.adapters.iceberg.catalog import CatalogUnreachableError, IcebergCatalog
from anabranch.adapters.iceberg.catalog_probe import BRANCH, CatalogRefusedError, probe_catalog
from anabranch.adapters.iceberg.embedded import EmbeddedCatalog


class ForgetfulCatalog(SqlCatalog):
    """Takes a branch, answers that it is there and does not keep it, as some catalogs really do."""

    def commit_table(self, table: Any, requirements: Any, updates: Any) -> Any:
        dropped = tuple(u for u in updates if isinstance(u, SetSnapshotRefUpdate) and u.ref_name == BRANCH)
        done = super().commit_table(table, requirements, tuple(u for u in updates if u not in dropped))
        return done.model_copy(update={"metadata": update_table_metadata(done.metadata, dropped)})


class FailingCatalog(SqlCatalog):
    """Fails at the step that `fails-at` names, after it was done: an answer lost on the way."""

    def _fail(self, step: str) -> None:
        if self.properties["fails-at"] == step:
            raise ConnectionResetError(f"lost the answer to {step}")

    def create_namespace(self, *arguments: Any, **options: Any) -> None:
        super().create_namespace(*arguments, **options)
        self._fail("create_namespace")

    def create_table(self, *arguments: Any, **options: Any) -> Any:
        made = super().create_table(*arguments, **options)
        self._fail("create_table")
        return made

    def commit_table(self, table: Any, requirements: Any, updates: Any) -> Any:
        done = super().commit_table(table, requirements, updates)
        self._fail("branch" if any(getattr(u, "ref_name", "") == BRANCH for u in updates) else "append")
        return done

    def load_table(self, *arguments: Any, **options: Any) -> Any:
        found = super().load_table(*arguments, **options)
        self._fail("load_table")
        return found


class StubbornCatalog(SqlCatalog):
    """Lets nobody drop a table."""

    def drop_table(self, identifier: Any) -> None:
        raise PermissionError("not yours to drop")


@pytest.fixture
def embedded(tmp_path: Path) -> EmbeddedCatalog:
    catalog = EmbeddedCatalog.below(tmp_path)
    catalog.create()
    return catalog


def opened_as(kind: type[SqlCatalog], embedded: EmbeddedCatalog, **more: str) -> IcebergCatalog:
    """The embedded catalog's own files behind another client."""
    settings = dict(embedded.catalog("lake").python)
    del settings["type"]
    implementation = f"{kind.__module__}.{kind.__name__}"
    return IcebergCatalog("lake", {**settings, "py-catalog-impl": implementation, **more}, {})


def everything(embedded: EmbeddedCatalog) -> tuple[list[Path], list[Any], list[Any]]:
    """Files, namespaces and tables, seen by a plain client."""
    plain = embedded.catalog("lake").open()
    namespaces = plain.list_namespaces()
    tables = [table for namespace in namespaces for table in plain.list_tables(namespace)]
    return sorted(embedded.warehouse.rglob("*")), namespaces, tables


def test_a_catalog_that_keeps_branches(embedded: EmbeddedCatalog) -> None:
    before = everything(embedded)
    trial = probe_catalog(embedded.catalog("lake"), "t1")
    assert (trial.branch_kept, trial.left_behind) == (True, ())
    assert everything(embedded) == before


def test_what_is_there_already_is_left_alone(embedded: EmbeddedCatalog) -> None:
    from pyiceberg.schema import Schema
    from pyiceberg.types import LongType, NestedField

    mine = embedded.catalog("lake").open()
    mine.create_namespace("shop")
    mine.create_table("shop.orders", Schema(NestedField(1, "n", LongType())))
    before = everything(embedded)
    probe_catalog(embedded.catalog("lake"), "t1")
    assert everything(embedded) == before


def test_a_catalog_that_forgets_branches_is_found_out(embedded: EmbeddedCatalog) -> None:
    before = everything(embedded)
    trial = probe_catalog(opened_as(ForgetfulCatalog, embedded), "t1")
    assert (trial.branch_kept, trial.left_behind) == (False, ())
    assert everything(embedded) == before


@pytest.mark.parametrize("step", ["create_namespace", "create_table", "append", "branch", "load_table"])
def test_nothing_stays_wherever_it_fails(step: str, embedded: EmbeddedCatalog) -> None:
    before = everything(embedded)
    with pytest.raises(CatalogRefusedError) as refused:
        probe_catalog(opened_as(FailingCatalog, embedded, **{"fails-at": step}), "t1")
    assert f"lost the answer to {step}" in str(refused.value.cause)
    assert refused.value.fields["left_behind"] == []
    assert everything(embedded) == before


def test_what_can_not_be_removed_is_named(embedded: EmbeddedCatalog) -> None:
    trial = probe_catalog(opened_as(StubbornCatalog, embedded), "t1")
    assert trial.branch_kept
    assert trial.left_behind == ("table anabranch_doctor_t1.probe", "namespace anabranch_doctor_t1")


def test_a_catalog_that_is_away(tmp_path: Path) -> None:
    away = IcebergCatalog("lake", {"type": "rest", "uri": "http://127.0.0.1:9", "token": "canary"}, {})
    with pytest.raises(CatalogUnreachableError) as told:
        probe_catalog(away, "t1")
    assert "canary" not in f"{told.value} {told.value.as_dict()}"
