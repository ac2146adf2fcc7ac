"""The `outage` section: how long a replay waits for a service that does not respond."""

from __future__ import annotations

from datetime import timedelta

from pydantic import Field

from anabranch.project.model import Part
from anabranch.project.quantities import Duration


class OutageSettings(Part):
    """What a replay does while Kafka, the catalog or the control database does not respond."""

    pause_after: Duration = Field(
        default=timedelta(minutes=15),
        description="How long a service may fail to respond before the run is paused. Until then the replay waits and "
        "continues automatically.",
        examples=["15m"],
    )
