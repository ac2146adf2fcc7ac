"""A catalog of a test's own, in a temporary folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyiceberg.catalog import Catalog

from anabranch.adapters.iceberg.embedded import EmbeddedCatalog


@pytest.fixture
def shop(tmp_path: Path) -> Catalog:
    """Empty, with the namespace `shop`."""
    embedded = EmbeddedCatalog.below(tmp_path)
    embedded.create()
    catalog = embedded.catalog("lake").open()
    catalog.create_namespace("shop")
    return catalog
