"""What a target can promise of a promotion and its rollback: declared by it, printed by `anabranch plan`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from anabranch.contract.pipeline import PipelineClass


class HeadCheck(str, Enum):
    """How a promotion knows that no other commit came since it looked at the target."""

    EXACT = "exact"
    """The commit names the head that it was made for, and the target refuses it at any other."""
    WRITERS_LOCKED = "writers-locked"
    """Other writers wait from the look to the commit."""
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
    """It goes on and never reads the changes."""


class RowRestore(str, Enum):
    """What a rollback does with rows that were committed after the promotion, where they have to be written again."""

    COMPARED = "compared"
    """They are distinguished from the promoted rows by comparison, whichever commit made them."""
    REPLAYED = "replayed"
    """They are made again from the topic, by the offsets of their commits, which have to be in the history."""


@dataclass(frozen=True)
class Capabilities:
    atomic: bool
    """Whether a promotion is one commit that takes effect whole or not at all."""
    head_check: HeadCheck
    readers_see: ReaderView
    moves: Moves
    streaming_readers: StreamingReaders
    former_rows_kept: bool
    """Whether expiry and cleaning leave the former rows until the run is closed, whatever the table's settings."""
    later_rows: RowRestore
    pauses_live: bool
    """Whether live may be asked to pause for a promotion."""
    classes: frozenset[PipelineClass]
    """The pipelines whose tables it can hold."""

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
