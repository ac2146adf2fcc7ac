"""Serves a collector's metrics by HTTP, and renders them once."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest, start_http_server
from prometheus_client.registry import Collector

from anabranch.errors import NOTHING_CHANGED, AnabranchError, ExitCode
from anabranch.project.sections.metrics import metrics_url


class MetricsAddressError(AnabranchError):
    """The address to listen on is in use, or is not one of this machine."""

    code = "metrics.address"
    exit_code = ExitCode.USAGE


@contextmanager
def serving(collector: Collector, host: str, port: int) -> Iterator[str]:
    """Listens during the block; yields the URL. Port 0 is a free one."""
    try:
        server, thread = start_http_server(port, host, _registry(collector))
    except OSError as error:
        raise MetricsAddressError(
            f"Cannot listen on {host}, port {port}: {os.strerror(error.errno) if error.errno else error}.",
            state=NOTHING_CHANGED,
            hint="Stop the process that listens there, or choose another address with --host and --port",
            host=host,
            port=port,
        ) from error
    try:
        yield metrics_url(host, server.server_port)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def exposition(collector: Collector) -> str:
    """The metrics in Prometheus' text format."""
    return generate_latest(_registry(collector)).decode("utf-8")


def documents(collector: Collector) -> list[dict[str, Any]]:
    """The samples as data."""
    return [
        {"name": sample.name, "kind": family.type, "labels": dict(sample.labels), "value": sample.value}
        for family in collector.collect()
        for sample in family.samples
    ]


def _registry(collector: Collector) -> CollectorRegistry:
    registry = CollectorRegistry(auto_describe=False)
    registry.register(collector)
    return registry
