"""Properties of Anabranch's commits in the table's history, written by Spark and read with no JVM."""

from __future__ import annotations

import json
from collections.abc import Mapping

from anabranch.plan.slices import Offsets
from anabranch.promote.history import Author
from anabranch.promote.ports import CommitNote

AUTHOR = "anabranch.author"
COMMIT = "anabranch.commit"
"""The id by which a commit whose outcome is unknown is looked up."""
RUN = "anabranch.run"
EPOCH = "anabranch.epoch"
SLICE = "anabranch.slice"
OFFSETS = "anabranch.offsets"
PIPELINE = "anabranch.pipeline"
CODE = "anabranch.code"
QUERY = "anabranch.query"
BATCH = "anabranch.batch"
ROOT = "anabranch.root"
"""Of a promotion of the whole table: the sequence number of the snapshot it was replayed from. Later snapshots
before the promotion have the rows that it corrected."""
EVENT_TIME = "anabranch.event-time"
"""The newest event that live has written so far."""
LEDGER = "anabranch.ledger"
"""The ledger of the slice: the fate of each offset, committed with its rows."""
WATERMARK = "anabranch.watermark"
"""Of a live batch with windows, in ms: windows that ended by then are written and final."""
LATE_BEFORE = "anabranch.late-before"
"""Of a live batch with windows, in ms: events of windows that ended by then were dropped."""
LATE = "anabranch.late"
"""Of a live batch with windows: how many events it dropped from a window at least."""
WINDOW = "anabranch.window"
"""Of a live batch with windows: the window declaration."""
LOOKUPS = "anabranch.lookups"
"""Of a live batch: the snapshot of each lookup table that it read."""

_AUTHORS = {author.value: author for author in Author}


def write_offsets(offsets: Offsets) -> str:
    return json.dumps({str(p): [start, end] for p, (start, end) in sorted(offsets.items())}, separators=(",", ":"))


def read_offsets(properties: Mapping[str, str]) -> dict[int, tuple[int, int]]:
    found: dict[str, list[int]] = json.loads(properties.get(OFFSETS, "{}"))
    return {int(p): (start, end) for p, (start, end) in found.items()}


def of_note(note: CommitNote) -> dict[str, str]:
    """A promotion's or rollback's properties."""
    return {AUTHOR: note.author.value, COMMIT: note.id, RUN: note.run, EPOCH: str(note.epoch)}


def author(properties: Mapping[str, str], operation: str) -> Author:
    """The author of a commit. A compaction has no Anabranch properties; its operation is `replace`."""
    if operation == "replace":
        return Author.REWRITE
    return _AUTHORS.get(properties.get(AUTHOR, ""), Author.FOREIGN)
