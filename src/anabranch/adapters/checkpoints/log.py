"""Spark's own logs in a checkpoint: which offsets a batch holds, by which watermark, and whether it is done."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anabranch.plan.slices import Offsets
from anabranch.project.atomic_write import atomic_write

_WATERMARK = "batchWatermarkMs"


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
    before = int(notes_of(checkpoint, batch - 1)[_WATERMARK]) if batch else 0
    return Watermarks(before, int(notes_of(checkpoint, batch)[_WATERMARK]))


def batch_position(checkpoint: Path, batch: int, topic: str) -> dict[int, int]:
    """The first offset of each partition that is not in the batch or one before it."""
    return _logged(checkpoint / "offsets" / str(batch), topic)


def is_committed(checkpoint: Path, batch: int) -> bool:
    """Whether Spark has written down that the batch is done."""
    return (checkpoint / "commits" / str(batch)).is_file()


def batches_done(checkpoint: Path) -> list[int]:
    """The batches that Spark has written down as done, oldest first, as far back as it keeps them."""
    folder = checkpoint / "commits"
    return sorted(int(file.name) for file in folder.iterdir() if file.name.isdigit()) if folder.is_dir() else []


def notes_of(checkpoint: Path, batch: int) -> dict[str, Any]:
    """What Spark notes beside a batch's offsets: its watermark, and the settings that its state depends on."""
    found: dict[str, Any] = json.loads(_lines(checkpoint / "offsets" / str(batch))[1])
    return found


def begin_batch(
    checkpoint: Path, batch: int, topic: str, ends: Mapping[int, int], watermark: int, notes: Mapping[str, Any]
) -> None:
    """Write down a batch as Spark does before it runs one: a query that starts here runs exactly this batch.

    Windows that end by `watermark` (ms) are closed in it; late is what the watermark of the batch before says.
    """
    said = json.dumps({**notes, _WATERMARK: watermark}, separators=(",", ":"))
    folder = checkpoint / "offsets"
    folder.mkdir(exist_ok=True)
    atomic_write(folder / str(batch), f"v1\n{said}\n{_offsets(topic, ends)}")


def begin_source(checkpoint: Path, topic: str, starts: Mapping[int, int]) -> None:
    """Write down where the first batch begins, as Spark's Kafka source does. The zero byte is part of its format."""
    folder = checkpoint / "sources" / "0"
    folder.mkdir(parents=True)
    atomic_write(folder / "0", f"\0v1\n{_offsets(topic, starts)}")


def begin_query(checkpoint: Path, query: str) -> None:
    """Give the checkpoint a query id of its own: Spark ends a query when another one of the same id starts."""
    (checkpoint / ".metadata.crc").unlink(missing_ok=True)
    atomic_write(checkpoint / "metadata", json.dumps({"id": query}, separators=(",", ":")))


def _offsets(topic: str, offsets: Mapping[int, int]) -> str:
    return json.dumps({topic: {str(p): offset for p, offset in sorted(offsets.items())}}, separators=(",", ":"))


def _logged(file: Path, topic: str) -> dict[int, int]:
    """The offsets of the one source are on the last line; a version and Spark's own notes come before."""
    found: dict[str, dict[str, int]] = json.loads(_lines(file)[-1])
    return {int(partition): offset for partition, offset in found.get(topic, {}).items()}


def _lines(file: Path) -> list[str]:
    return file.read_text(encoding="utf-8").rstrip("\n").split("\n")
