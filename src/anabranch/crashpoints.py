"""Named places where a run may be killed or stopped, so that tests can do it there and nowhere else.

Set ANABRANCH_CRASH_AT to a name, or to `name:3` for the third time it is reached, and the process gets SIGKILL there:
no handler runs, nothing is flushed, as when a machine goes away. ANABRANCH_STOP_AT stops it instead, as when a machine
hangs: whoever continues it has a process that believes what is no longer so.
"""

from __future__ import annotations

import os
import signal
from collections import Counter

NAMES = tuple(
    f"{step}.{when}"
    for step in (
        "lease",
        "branch",
        "slice.write",
        "slice.commit",
        "journal",
        "validate",
        "promote.commit",
        "rollback.commit",
        "close",
        "live.quarantine",
        "live.commit",
        "live.group",
    )
    for when in ("before", "after")
)

_reached: Counter[str] = Counter()


def reach(name: str) -> None:
    """Say that the process is at this point. Costs a dictionary look-up when nobody asked for a crash."""
    crash, stop = os.environ.get("ANABRANCH_CRASH_AT"), os.environ.get("ANABRANCH_STOP_AT")
    if not crash and not stop:
        return
    if name not in NAMES:
        raise ValueError(f"{name} is not a crash point; name it in crashpoints.NAMES first")
    _reached[name] += 1
    if _is_asked(name, stop):
        os.kill(os.getpid(), signal.SIGSTOP)
    if _is_asked(name, crash):
        os.kill(os.getpid(), signal.SIGKILL)


def _is_asked(name: str, asked: str | None) -> bool:
    wanted, _, count = (asked or "").partition(":")
    return name == wanted and _reached[name] == int(count or 1)
