"""Spark's logs in a checkpoint: a batch's offsets and watermarks, and whether it is committed."""

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
    """The id of the streaming query, which is constant for a checkpoint."""
    found: dict[str, str] = json.loads((checkpoint / "metadata").read_text(encoding="utf-8"))
    return found["id"]


def batch_offsets(checkpoint: Path, batch: int, topic: str) -> Offsets:
    """[start, end) of every partition in this batch, including those without new records.

    A batch starts at the end of the previous one, the first batch at the source's initial offsets. A partition added
    to the topic later starts at 0: Spark reports any other start as data loss.
    """
    before = checkpoint / "offsets" / str(batch - 1) if batch else checkpoint / "sources" / "0" / "0"
    starts, ends = _logged(before, topic), _logged(checkpoint / "offsets" / str(batch), topic)
    return {partition: (starts.get(partition, 0), end) for partition, end in sorted(ends.items())}


@dataclass(frozen=True)
class Watermarks:
    """Watermarks of one batch, in milliseconds since 1970."""

    late_before: int
    """The watermark of the previous batch: events of windows that ended by then were dropped as late."""
    closed: int
    """The watermark of this batch: windows that ended by then are written and final."""


def batch_watermarks(checkpoint: Path, batch: int) -> Watermarks:
    before = int(batch_metadata(checkpoint, batch - 1)[_WATERMARK]) if batch else 0
    return Watermarks(before, int(batch_metadata(checkpoint, batch)[_WATERMARK]))


def batch_position(checkpoint: Path, batch: int, topic: str) -> dict[int, int]:
    """The end offset of each partition after this batch."""
    return _logged(checkpoint / "offsets" / str(batch), topic)


def is_committed(checkpoint: Path, batch: int) -> bool:
    """Whether Spark has committed the batch."""
    return (checkpoint / "commits" / str(batch)).is_file()


def batches_done(checkpoint: Path) -> list[int]:
    """Committed batches, oldest first, as far back as Spark keeps them."""
    folder = checkpoint / "commits"
    return sorted(int(file.name) for file in folder.iterdir() if file.name.isdigit()) if folder.is_dir() else []


def batch_metadata(checkpoint: Path, batch: int) -> dict[str, Any]:
    """Spark's metadata of a batch: its watermark, and the settings on which its state depends."""
    found: dict[str, Any] = json.loads(_lines(checkpoint / "offsets" / str(batch))[1])
    return found


def begin_batch(
    checkpoint: Path, batch: int, topic: str, ends: Mapping[int, int], watermark: int, metadata: Mapping[str, Any]
) -> None:
    """Write a batch's offset log entry as Spark does before running it: a query started here runs exactly this batch.

    The batch closes windows that end by `watermark` (ms). The previous batch's watermark decides which events are late.
    """
    header = json.dumps({**metadata, _WATERMARK: watermark}, separators=(",", ":"))
    folder = checkpoint / "offsets"
    folder.mkdir(exist_ok=True)
    atomic_write(folder / str(batch), f"v1\n{header}\n{_offsets(topic, ends)}")


def begin_source(checkpoint: Path, topic: str, starts: Mapping[int, int]) -> None:
    """Write the source's initial offsets as Spark's Kafka source does. The zero byte is part of its format."""
    folder = checkpoint / "sources" / "0"
    folder.mkdir(parents=True)
    atomic_write(folder / "0", f"\0v1\n{_offsets(topic, starts)}")


def begin_query(checkpoint: Path, query: str) -> None:
    """Give the checkpoint a new query id: Spark ends a query when another one with its id starts."""
    (checkpoint / ".metadata.crc").unlink(missing_ok=True)
    atomic_write(checkpoint / "metadata", json.dumps({"id": query}, separators=(",", ":")))


def _offsets(topic: str, offsets: Mapping[int, int]) -> str:
    return json.dumps({topic: {str(p): offset for p, offset in sorted(offsets.items())}}, separators=(",", ":"))


def _logged(file: Path, topic: str) -> dict[int, int]:
    """The offsets of the single source, which are on the last line, after version and metadata."""
    found: dict[str, dict[str, int]] = json.loads(_lines(file)[-1])
    return {int(partition): offset for partition, offset in found.get(topic, {}).items()}


def _lines(file: Path) -> list[str]:
    return file.read_text(encoding="utf-8").rstrip("\n").split("\n")
