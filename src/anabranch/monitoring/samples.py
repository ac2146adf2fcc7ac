"""A sample of a metric, and samples as families of Prometheus' data model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from anabranch.monitoring.definitions import DEFINITIONS, Definition, MetricKind

Samples = Iterator["MetricSample"]


@dataclass(frozen=True)
class MetricSample:
    metric: Definition
    value: float | None
    """None: unknown; the sample is left out."""
    labels: tuple[str, ...] = ()
    """Their values, in the order of the definition."""


def families(samples: Iterable[MetricSample]) -> list[Metric]:
    """One family per metric with its samples, in the order of the definitions; a metric without a sample is absent."""
    found: dict[Definition, GaugeMetricFamily | CounterMetricFamily] = {}
    for sample in samples:
        if sample.value is not None:
            if sample.metric not in found:
                found[sample.metric] = _family(sample.metric)
            found[sample.metric].add_metric(sample.labels, sample.value)
    return [found[each] for each in DEFINITIONS if each in found]


def _family(definition: Definition) -> GaugeMetricFamily | CounterMetricFamily:
    match definition.kind:
        case MetricKind.GAUGE:
            return GaugeMetricFamily(definition.name, definition.help, labels=definition.labels)
        case MetricKind.COUNTER:
            return CounterMetricFamily(definition.name, definition.help, labels=definition.labels)
