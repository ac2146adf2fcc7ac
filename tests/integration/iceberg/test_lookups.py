"""A lookup is pinned at its head, at a snapshot or at a moment, and missed when it is gone; with no JVM."""

from __future__ import annotations

import time
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pyarrow as pa
import pytest

from anabranch.adapters.iceberg.embedded import EmbeddedCatalog
from anabranch.adapters.iceberg.lookups import IcebergLookups
from anabranch.adapters.iceberg.refs import head_of, snapshot_of
from anabranch.contract.backfill import LookupAsOf
from anabranch.plan.lookup_tables import LookupPin, LookupUnreadableError
from anabranch.runs.heads import Head

TABLE = "shop.rates"


def test_a_pin_is_what_was_asked_for_or_refused(tmp_path: Path) -> None:
    embedded = EmbeddedCatalog.below(tmp_path)
    embedded.create()
    catalog = embedded.catalog("lake").open()
    look = IcebergLookups(catalog)
    with pytest.raises(LookupUnreadableError, match=r"shop\.rates .* does not exist"):
        look.pin("rates", TABLE, None)
    catalog.create_namespace("shop")
    table = catalog.create_table(TABLE, pa.schema([("rate", pa.int64())]))
    taken: list[tuple[int, datetime]] = []
    for rate in range(3):
        table.append(pa.table({"rate": [rate]}))
        head = table.refresh().current_snapshot()
        assert head is not None
        taken.append((head.snapshot_id, datetime.fromtimestamp(head.timestamp_ms / 1000, timezone.utc)))
        while time.time() * 1000 <= head.timestamp_ms + 1:
            pass  # the next one is of a later millisecond, so that the moments tell them apart
    first, second, last = (head_of(snapshot) for snapshot, _ in taken)

    def at(**asked: object) -> LookupAsOf:
        return LookupAsOf.model_validate(asked)

    assert look.pin("rates", TABLE, None) == LookupPin(TABLE, last)
    assert look.pin("rates", TABLE, at(snapshot=first)) == LookupPin(TABLE, first)
    for snapshot, moment in taken[:2]:
        assert look.pin("rates", TABLE, at(asOf=moment.isoformat())).snapshot == head_of(snapshot)
    with pytest.raises(LookupUnreadableError, match=r"no snapshot of .* or before"):
        look.pin("rates", TABLE, at(asOf=(taken[0][1] - timedelta(seconds=1)).isoformat()))
    with pytest.raises(LookupUnreadableError, match="no snapshot 7"):
        look.pin("rates", TABLE, at(snapshot=7))
    with pytest.raises(LookupUnreadableError, match="no snapshot v7"):
        look.pin("rates", TABLE, LookupAsOf.model_construct(as_of=None, snapshot=Head("v7")))

    assert look.is_retained(LookupPin(TABLE, second))
    table.maintenance.expire_snapshots().by_id(snapshot_of(second)).commit()
    assert not look.is_retained(LookupPin(TABLE, second))
    assert not look.is_retained(LookupPin("shop.others", last))
