"""What readiness requires of the outside world. All of it is read only, but for what says otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol


class LivePositions(Protocol):
    """Where one pipeline's live and its topic's log are now. Each call observes anew; raises KafkaUnreachableError."""

    def log_ends(self) -> Mapping[int, int]:
        """The end offset of each partition."""

    def of_group(self) -> Mapping[int, int]:
        """What live's consumer group has committed; empty: nothing."""

    def of_table(self) -> Mapping[int, int]:
        """Where live's commits to the table end; empty: none is left in the table's history."""
