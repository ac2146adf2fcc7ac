"""Is there room, and may we write? Asked before anything is started."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from anabranch.adapters.embedded.errors import DATA_KEPT, DiskFullError, ReadOnlyError
from anabranch.adapters.embedded.layout import Layout

LEAST_FREE = 500 * 10**6
"""A broker on a full disk halts at once, whatever it was doing; below this it is not worth starting one."""

FULL = (errno.ENOSPC, errno.EDQUOT)


def prepare(layout: Layout) -> None:
    """Make the folders, and refuse if they can't be written."""
    for folder in (layout.folder, layout.kafka, layout.logs):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            # Opening a file takes no block on some filesystems; only a byte on the disk proves it.
            with TemporaryFile(dir=folder) as probe:
                probe.write(b"\0" * 4096)
                probe.flush()
                os.fsync(probe.fileno())
        except OSError as error:
            raise refusal(folder, error) from error


def free(folder: Path) -> int:
    return shutil.disk_usage(folder).free


def refuse_full(folder: Path, free: int, least_free: int = LEAST_FREE) -> None:
    if free < least_free:
        raise _full(folder, f"{_mb(free)} are free, and a broker needs {_mb(least_free)}", free=free)


def refusal(folder: Path, error: OSError, state: str = DATA_KEPT) -> DiskFullError | ReadOnlyError:
    """What a failed write means to the user."""
    if error.errno in FULL:
        return _full(folder, "nothing more can be written", state)
    return ReadOnlyError(
        f"{folder} can't be written: {error.strerror or error}.",
        state=state,
        hint=f"give yourself the right to write to {folder}, or work on a copy of the project elsewhere",
        folder=str(folder),
    )


def used(folder: Path) -> int:
    """Bytes really taken on the disk. Kafka preallocates its indexes as holes, which cost nothing."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                total += (Path(place) / name).lstat().st_blocks * 512
            except FileNotFoundError:
                continue  # a segment rolled or removed by the broker while we looked
    return total


def _full(folder: Path, why: str, state: str = DATA_KEPT, **fields: Any) -> DiskFullError:
    return DiskFullError(
        f"The disk of {folder} is full: {why}.",
        state=state,
        hint=f"free some space on the disk of {folder}, then `anabranch dev up`",
        folder=str(folder),
        **fields,
    )


def _mb(size: int) -> str:
    return f"{size / 10**6:,.0f} MB"
