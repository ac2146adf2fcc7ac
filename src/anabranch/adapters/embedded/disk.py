"""Checks disk space and write permission before a broker is started."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from anabranch.adapters.embedded.errors import DATA_UNCHANGED, DiskFullError, ReadOnlyError
from anabranch.adapters.embedded.layout import Layout

LEAST_FREE = 500 * 10**6
"""Free space required to start a broker, which halts when the disk is full."""

FULL = (errno.ENOSPC, errno.EDQUOT)


def prepare(layout: Layout) -> None:
    """Create the folders. Raises ReadOnlyError or DiskFullError if they are not writable."""
    for folder in (layout.folder, layout.kafka, layout.logs):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            # On some file systems only writing a block shows that the disk is full.
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
        raise _full(folder, f"{_mb(free)} free, a broker needs {_mb(least_free)}", free=free)


def refusal(folder: Path, error: OSError, state: str = DATA_UNCHANGED) -> DiskFullError | ReadOnlyError:
    """The error to report for a failed write."""
    if error.errno in FULL:
        return _full(folder, "no space left to write", state)
    return ReadOnlyError(
        f"Folder {folder} is not writable: {error.strerror or error}.",
        state=state,
        hint=f"Make {folder} writable for this user, or use a copy of the project in another folder",
        folder=str(folder),
    )


def used(folder: Path) -> int:
    """Bytes allocated on the disk. Kafka preallocates its indexes as sparse files, which take no space."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                total += (Path(place) / name).lstat().st_blocks * 512
            except FileNotFoundError:
                continue  # the broker removed a segment meanwhile
    return total


def _full(folder: Path, reason: str, state: str = DATA_UNCHANGED, **fields: Any) -> DiskFullError:
    return DiskFullError(
        f"Disk of {folder} is full: {reason}.",
        state=state,
        command="anabranch dev up",
        hint=f"Free space on the disk of {folder}, then start the brokers",
        folder=str(folder),
        **fields,
    )


def _mb(size: int) -> str:
    return f"{size / 10**6:,.0f} MB"
