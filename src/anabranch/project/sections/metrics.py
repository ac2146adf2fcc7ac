"""The `metrics` section: where `anabranch metrics serve` listens, and the observability gate reads."""

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
    """Where `anabranch metrics serve` listens, and the observability gate reads."""

    port: Port | None = Field(
        default=None,
        description="Port of the Prometheus endpoint /metrics: `anabranch metrics serve` listens on it, and the "
        "observability gate reads it. If left out, the gate reads nothing.",
        examples=[9464],
    )
    bind: Annotated[str, AfterValidator(_address)] = Field(
        default="127.0.0.1",
        description="Address that `anabranch metrics serve` listens on. It has no login.",
        examples=["127.0.0.1"],
    )


def metrics_url(host: str, port: int) -> str:
    """Where the metrics of an endpoint that listens on this IP address are read from this machine."""
    address = ipaddress.ip_address(host)
    if address.is_unspecified:
        host = {4: "127.0.0.1", 6: "::1"}[address.version]
    return f"http://{f'[{host}]' if address.version == 6 else host}:{port}/metrics"
