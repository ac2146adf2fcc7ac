"""One command at a time acts on a project's stack."""

from __future__ import annotations

import fcntl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from anabranch.adapters.embedded.errors import DATA_KEPT, StackBusyError

POLL_SECONDS = 0.1


@contextmanager
def exclusive(path: Path, patience: float, say: Callable[[str], None]) -> Iterator[None]:
    """Hold the stack's lock. It goes with the process that held it, so a killed command leaves none behind."""
    with _open(path) as file:
        if not _try(file.fileno()):
            say("another `anabranch dev` command is at work in this project; waiting for it …")
            _wait(file.fileno(), path, time.monotonic() + patience)
        yield


def _open(path: Path) -> IO[str]:
    try:
        return path.open("a+")
    except OSError:
        # On a disk that has become read-only a broker must still be stoppable; reading suffices for the lock.
        return path.open()


def _wait(descriptor: int, path: Path, deadline: float) -> None:
    while not _try(descriptor):
        if time.monotonic() > deadline:
            raise StackBusyError(
                "Another `anabranch dev` command is still at work in this project.",
                state=DATA_KEPT,
                hint="wait for it to end, then look with `anabranch dev status`",
                lock=str(path),
            )
        time.sleep(POLL_SECONDS)


def _try(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
