"""Ensures that one driver at a time writes for a pipeline, including the JVM of a killed driver."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from anabranch.live.errors import CONTINUES, LiveBusyError

POLL_SECONDS = 0.1


@contextmanager
def only_driver(path: Path, patience: float) -> Iterator[int]:
    """Hold the pipeline's lock and yield its file descriptor, which the JVM inherits. Raises LiveBusyError.

    The system releases the lock when the last process with the open file ends. If Python is killed while its JVM
    commits, a driver that started before the JVM ended would not find the commit and would write the batch again.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+") as file:
        if not _wait(file.fileno(), time.monotonic() + patience):
            raise LiveBusyError(
                f"Another driver of live {path.parent.name} is running, or its JVM has not ended yet.",
                state=CONTINUES,
                command=f"anabranch live stop {path.parent.name}",
                hint=f"`anabranch live status {path.parent.name}` shows the running driver",
                lock=str(path),
            )
        os.set_inheritable(file.fileno(), True)
        yield file.fileno()


def is_free(path: Path, patience: float) -> bool:
    """Whether all processes with the lock have ended, waiting up to `patience` s."""
    if not path.is_file():
        return True
    with path.open() as file:
        return _wait(file.fileno(), time.monotonic() + patience)


def _wait(descriptor: int, deadline: float) -> bool:
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                return False
            time.sleep(POLL_SECONDS)
        else:
            return True
