"""Which value a replay's broker quota gets next. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping

from anabranch.plan.quotas import per_broker
from anabranch.replay.allowance import Allowance

CHANGE_SECONDS = 10.0
"""A change is a record in the cluster's metadata: there is at most one in this time."""
WINDOW_SECONDS = 11.0
"""Brokers count bytes in eleven windows of one second (`quota.window.num`, `quota.window.size.seconds`)."""
STEP = 1.2
"""A change of less than this is not worth one; the client's limit follows every change."""
GOVERNED = 1.25
"""Above a governor's rate: the governor raises it only when it is used, and a broker counts more bytes than records
have. Its rate is no promise of bytes, as a contract's is."""


def wanted_value(allowance: Allowance, leader_bytes: Mapping[int, int]) -> int | None:
    """The value for one broker; None: no limit, so no quota."""
    if allowance.bytes_per_second is None:
        return None
    margin = GOVERNED if allowance.source == "governor" else 1.0
    return per_broker(math.ceil(allowance.bytes_per_second * margin), leader_bytes)


def next_value(current: int | None, wanted: int | None) -> int | None:
    """The value to set now. A step up is never below what is wanted; a step down at most halves.

    A broker makes up for what it sent within its window: after a cut to 1/n it sends nothing for n - 1 windows, even
    if the quota is raised meanwhile. The client's limit holds at once, so that the quota can follow in steps.
    """
    if current is None or wanted is None or current == wanted:
        return wanted
    if wanted > current:
        return max(wanted, math.ceil(current * STEP))
    return max(wanted, current // 2) if current >= wanted * STEP else current
