"""The `metrics` section: the endpoint that the observability gate reads. Anabranch does not serve one yet."""

from __future__ import annotations

import ipaddress
from typing import Annotated

from pydantic import AfterValidator, Field

from anabranch.project.model import Part, Port
from anabranch.project.refusals import refuse


def _address(text: str) -> str:
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        raise refuse("this is not an IP address to listen on", "127.0.0.1") from None


class MetricsSettings(Part):
    """The endpoint that the observability gate reads. Anabranch does not serve one yet."""

    port: Port | None = Field(
        default=None,
        description="Port of the Prometheus endpoint /metrics that the observability gate reads. "
        "Anabranch does not serve it yet; if left out, the gate reads nothing.",
        examples=[9464],
    )
    bind: Annotated[str, AfterValidator(_address)] = Field(
        default="127.0.0.1",
        description="Address that the endpoint listens on.",
        examples=["127.0.0.1"],
    )
