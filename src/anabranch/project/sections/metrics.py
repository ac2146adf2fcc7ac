"""The `metrics` section: where the observability gate looks for metrics. Anabranch does not serve any yet."""

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
    """Where the observability gate looks for metrics. Anabranch does not serve any yet."""

    port: Port | None = Field(
        default=None,
        description="The port of an endpoint in Prometheus' text format, /metrics, that the observability gate reads. "
        "Anabranch does not serve it yet; left out, the gate asks nothing.",
        examples=[9464],
    )
    bind: Annotated[str, AfterValidator(_address)] = Field(
        default="127.0.0.1",
        description="The address at which the endpoint listens.",
        examples=["127.0.0.1"],
    )
