"""A catalog of a test's own."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyiceberg.catalog import Catalog

from anabranch.adapters.iceberg.embedded import EmbeddedCatalog


@pytest.fixture
def bank(tmp_path: Path) -> Catalog:
    """Empty, with the namespace `bank`."""
    embedded = EmbeddedCatalog.below(tmp_path)
    embedded.create()
    catalog = embedded.catalog("lake").open()
    catalog.create_namespace("bank")
    return catalog
