"""One driver at a time writes for a pipeline, counting what is left of a killed one."""

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
    """Hold the pipeline's lock, and yield the open file for the JVM to inherit.

    The lock goes when the last process that has the file open is gone. Python may be killed while its JVM is in the
    middle of a commit; whoever started before that JVM is gone would not find the commit, and would make it again.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+") as file:
        if not _wait(file.fileno(), time.monotonic() + patience):
            raise LiveBusyError(
                f"Another driver of {path.parent.name} is at work, or its JVM is still ending.",
                state=CONTINUES,
                hint=f"`anabranch live status {path.parent.name}`, then `anabranch live stop {path.parent.name}`",
                lock=str(path),
            )
        os.set_inheritable(file.fileno(), True)
        yield file.fileno()


def is_free(path: Path, patience: float) -> bool:
    """Whether everything that could still write is gone, within so many seconds."""
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
