"""The `gates` section: which replays a red gate blocks."""

from __future__ import annotations

from pydantic import Field

from anabranch.project.model import Part, Positive, Switch
from anabranch.project.quantities import Size


class HighVolume(Part):
    """From which size on a replay is high-volume. One of the two is enough; a size that is unknown counts as more."""

    records: Positive = Field(
        default=1_000_000,
        description="The most offsets that a replay may read without being high-volume. A control replay counts again.",
        examples=[1_000_000],
    )
    bytes: Size = Field(
        default="1GiB",
        validate_default=True,
        description="The most bytes that a replay may read without being high-volume.",
        examples=["1GiB"],
    )


class GateSettings(Part):
    """Which replays a red gate blocks. A gate whose check failed blocks all of them."""

    enforce: Switch | None = Field(
        default=None,
        description="Whether a gate that is red because nothing is known blocks a replay that is high-volume or "
        "business-critical, and needs an acknowledgement by name for any other. If false, it is shown and "
        "acknowledged automatically, on record. Left out: yes, unless Kafka is embedded.",
        examples=[True],
    )
    high_volume: HighVolume = Field(
        default=HighVolume(), description="From which size on a replay is high-volume.", examples=[{"bytes": "1GiB"}]
    )
