"""What our commits say of themselves in the table's own history, written by Spark and read with no JVM."""

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
"""Of a promotion of the whole table: the sequence number of the state it was replayed from. States of later ones
hold what the promotion has corrected."""
EVENT_TIME = "anabranch.event-time"
"""The newest event that live has written so far."""
LEDGER = "anabranch.ledger"
"""What became of every offset of the slice, committed with its rows."""
WATERMARK = "anabranch.watermark"
"""Of a live batch with windows, in ms: those that ended by then are written and final."""
LATE_BEFORE = "anabranch.late-before"
"""Of a live batch with windows, in ms: events of windows that ended by then were dropped."""
LATE = "anabranch.late"
"""Of a live batch with windows: how many events it dropped from a window at least."""
WINDOW = "anabranch.window"
"""Of a live batch with windows: which ones."""
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
    """Whose commit it is. A rewrite keeps no properties of ours, but says `replace`: the rows are the same."""
    if operation == "replace":
        return Author.REWRITE
    return _AUTHORS.get(properties.get(AUTHOR, ""), Author.FOREIGN)
