"""The `replayBudget` section: what all replays of the context may read together."""

from __future__ import annotations

from pydantic import Field

from anabranch.project.model import Part, Positive
from anabranch.project.quantities import Size


class ReplayBudgetSettings(Part):
    """The budget that all replays of the context share through the control database."""

    bytes_per_second: Size = Field(
        description="Bytes of keys and values per second that all replays of the context may read from Kafka together.",
        examples=["50MiB"],
    )
    runs: Positive = Field(
        default=2, description="How many replays may run at once; others wait in a queue.", examples=[2]
    )
