"""Ensures that one command at a time changes a project's stack."""

from __future__ import annotations

import fcntl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from anabranch.adapters.embedded.errors import DATA_UNCHANGED, StackBusyError

POLL_SECONDS = 0.1


@contextmanager
def exclusive(path: Path, patience: float, say: Callable[[str], None]) -> Iterator[None]:
    """Hold the stack's lock. The system releases it when the process ends. Raises StackBusyError after `patience` s."""
    with _open(path) as file:
        if not _try(file.fileno()):
            say("waiting for another `anabranch dev` command in this project …")
            _wait(file.fileno(), path, time.monotonic() + patience)
        yield


def _open(path: Path) -> IO[str]:
    try:
        return path.open("a+")
    except OSError:
        # On a disk that became read-only a broker must still be stoppable; an open file for reading can be locked.
        return path.open()


def _wait(descriptor: int, path: Path, deadline: float) -> None:
    while not _try(descriptor):
        if time.monotonic() > deadline:
            raise StackBusyError(
                "Another `anabranch dev` command is still running in this project.",
                state=DATA_UNCHANGED,
                command="anabranch dev status",
                hint="Wait for it to end",
                lock=str(path),
            )
        time.sleep(POLL_SECONDS)


def _try(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
