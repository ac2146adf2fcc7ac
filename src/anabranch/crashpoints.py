"""Named points at which tests kill or stop the process.

With ANABRANCH_CRASH_AT set to a name, or to `name:3` for the third time it is reached, the process gets SIGKILL there:
no handler runs and nothing is flushed, as when a machine fails. With ANABRANCH_STOP_AT it gets SIGSTOP, as when a
machine hangs: after SIGCONT the process continues with stale state.
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
        "retention.extend",
        "retention.restore",
        "quota.set",
        "quota.remove",
        "live.quarantine",
        "live.commit",
        "live.group",
    )
    for when in ("before", "after")
)

_reached: Counter[str] = Counter()


def reach(name: str) -> None:
    """Mark that the process reached this point. Costs two environment look-ups unless a crash or stop is set."""
    crash, stop = os.environ.get("ANABRANCH_CRASH_AT"), os.environ.get("ANABRANCH_STOP_AT")
    if not crash and not stop:
        return
    if name not in NAMES:
        raise ValueError(f"{name} is not a crash point; name it in crashpoints.NAMES first")
    _reached[name] += 1
    if _is_due(name, stop):
        os.kill(os.getpid(), signal.SIGSTOP)
    if _is_due(name, crash):
        os.kill(os.getpid(), signal.SIGKILL)


def _is_due(name: str, setting: str | None) -> bool:
    point, _, count = (setting or "").partition(":")
    return name == point and _reached[name] == int(count or 1)
