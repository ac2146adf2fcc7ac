"""Named places where a run may be killed, so that tests can kill it there and nowhere else.

Set ANABRANCH_CRASH_AT to a name, or to `name:3` for the third time it is reached, and the process gets SIGKILL there:
no handler runs, nothing is flushed, as when a machine goes away.
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
    asked = os.environ.get("ANABRANCH_CRASH_AT")
    if not asked:
        return
    if name not in NAMES:
        raise ValueError(f"{name} is not a crash point; name it in crashpoints.NAMES first")
    _reached[name] += 1
    wanted, _, count = asked.partition(":")
    if name == wanted and _reached[name] == int(count or 1):
        os.kill(os.getpid(), signal.SIGKILL)
