"""The `metrics` section: where Prometheus may read from."""

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
    """Where metrics will be served. Nothing serves any yet."""

    port: Port | None = Field(
        default=None,
        description="The port to serve metrics on. Nothing serves metrics yet: it has no effect.",
        examples=[9464],
    )
    bind: Annotated[str, AfterValidator(_address)] = Field(
        default="127.0.0.1",
        description="The address to listen on; the default is reached from this machine only.",
        examples=["127.0.0.1"],
    )
