"""Which offsets a batch holds, by the checkpoint's own logs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from anabranch.plan.slices import Offsets


def query_id(checkpoint: Path) -> str:
    """The id of the streaming query, which stays the same for as long as the checkpoint does."""
    found: dict[str, str] = json.loads((checkpoint / "metadata").read_text(encoding="utf-8"))
    return found["id"]


def batch_offsets(checkpoint: Path, batch: int, topic: str) -> Offsets:
    """[start, end) of every partition in this batch, those without new records included.

    A batch begins where the one before ended; the first where the source found its beginning. A partition that was
    added to the topic meanwhile begins at 0: Spark refuses any other beginning as lost data.
    """
    before = checkpoint / "offsets" / str(batch - 1) if batch else checkpoint / "sources" / "0" / "0"
    starts, ends = _logged(before, topic), _logged(checkpoint / "offsets" / str(batch), topic)
    return {partition: (starts.get(partition, 0), end) for partition, end in sorted(ends.items())}


@dataclass(frozen=True)
class Watermarks:
    """Of one batch, in milliseconds since 1970."""

    late_before: int
    """Events of windows that ended by then were dropped: the watermark as the batch before knew it."""
    closed: int
    """Windows that ended by then were written, and are final after this batch."""


def batch_watermarks(checkpoint: Path, batch: int) -> Watermarks:
    before = _watermark(checkpoint / "offsets" / str(batch - 1)) if batch else 0
    return Watermarks(before, _watermark(checkpoint / "offsets" / str(batch)))


def is_committed(checkpoint: Path, batch: int) -> bool:
    """Whether Spark has written down that the batch is done."""
    return (checkpoint / "commits" / str(batch)).is_file()


def _watermark(file: Path) -> int:
    """Spark's own notes are on the second line, behind the version."""
    notes = json.loads(file.read_text(encoding="utf-8").split("\n")[1])
    return int(notes["batchWatermarkMs"])


def _logged(file: Path, topic: str) -> dict[int, int]:
    """The offsets of the one source are on the last line; a version and Spark's own notes come before."""
    last = file.read_text(encoding="utf-8").rstrip("\n").rsplit("\n", 1)[-1]
    found: dict[str, dict[str, int]] = json.loads(last)
    return {int(partition): offset for partition, offset in found.get(topic, {}).items()}
