"""The guarantees of a target for promotion and rollback. The target declares them, `anabranch plan` prints them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from anabranch.contract.pipeline import PipelineClass


class HeadCheck(str, Enum):
    """How a promotion excludes that another commit came after it read the target."""

    EXACT = "exact"
    """The commit names the head that it is based on; the target refuses it at any other head."""
    WRITERS_LOCKED = "writers-locked"
    """Other writers are locked out from the read to the commit."""
    WRITERS_FENCED = "writers-fenced"
    """The live writer is fenced off for the promotion, and restarts after it."""
    NONE = "none"


class ReaderView(str, Enum):
    """The unit for which a reader sees either all of a promotion or nothing of it."""

    SNAPSHOT = "snapshot"
    STATEMENT = "statement"
    PARTITION = "partition"
    GROUP = "group"


class Moves(str, Enum):
    """What a promotion changes."""

    FILES = "files"
    """Which data files the table has. None is rewritten: the time does not depend on the rows."""
    TABLES = "tables"
    ROWS = "rows"
    OFFSETS = "offsets"


class StreamingReaders(str, Enum):
    """What happens to a stream that reads the target when a promotion is committed."""

    STOP = "stop"
    """It ends with an error, unless its options skip overwrite commits."""
    READ_CHANGES = "read-changes"
    """It reads the changes."""
    MISS_CHANGES = "miss-changes"
    """It continues and never reads the changes."""


class RowRestore(str, Enum):
    """How a rollback finds rows that were committed after the promotion, if they have to be rewritten."""

    COMPARED = "compared"
    """They are distinguished from the promoted rows by comparison, whichever commit made them."""
    REPLAYED = "replayed"
    """They are replayed from the topic by the offsets of their commits, which must be in the history."""


@dataclass(frozen=True)
class Capabilities:
    atomic: bool
    """Whether a promotion is one atomic commit."""
    head_check: HeadCheck
    readers_see: ReaderView
    moves: Moves
    streaming_readers: StreamingReaders
    former_rows_kept: bool
    """Whether the former rows survive expiry and cleaning until the run is closed, with any settings of the table."""
    later_rows: RowRestore
    pauses_live: bool
    """Whether live may be asked to pause for a promotion."""
    classes: frozenset[PipelineClass]
    """The pipeline classes that it supports."""

    def document(self) -> Mapping[str, object]:
        """As plain JSON values."""
        return {
            "atomic": self.atomic,
            "head_check": self.head_check.value,
            "readers_see": self.readers_see.value,
            "moves": self.moves.value,
            "streaming_readers": self.streaming_readers.value,
            "former_rows_kept": self.former_rows_kept,
            "later_rows": self.later_rows.value,
            "pauses_live": self.pauses_live,
            "classes": sorted(self.classes),
        }
