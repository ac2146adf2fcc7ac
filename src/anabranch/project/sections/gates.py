"""The `gates` section: which replays a red gate blocks."""

from __future__ import annotations

from pydantic import Field

from anabranch.project.model import Part, Positive, Switch
from anabranch.project.quantities import Size


class HighVolume(Part):
    """Above either limit a replay is high-volume. An unknown size counts as above."""

    records: Positive = Field(
        default=1_000_000,
        description="Offsets that a replay may read without being high-volume. A control replay counts twice.",
        examples=[1_000_000],
    )
    bytes: Size = Field(
        default="1GiB",
        validate_default=True,
        description="Bytes that a replay may read without being high-volume.",
        examples=["1GiB"],
    )


class GateSettings(Part):
    """Which replays a red gate blocks. A gate whose check failed blocks all of them."""

    enforce: Switch | None = Field(
        default=None,
        description="Whether a gate without evidence blocks a replay that is high-volume or business-critical, and "
        "needs an acknowledgement for any other. If false, it is displayed and acknowledged automatically, on record. "
        "If left out: yes, unless Kafka is embedded.",
        examples=[True],
    )
    high_volume: HighVolume = Field(
        default=HighVolume(),
        description="The limits above which a replay is high-volume.",
        examples=[{"bytes": "1GiB"}],
    )
