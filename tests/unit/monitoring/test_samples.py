"""Samples become families that any reader of Prometheus' text format reads back as they were."""

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

from anabranch.monitoring import definitions as metrics
from anabranch.monitoring.samples import MetricSample, families


class Served(Collector):
    def __init__(self, samples: Iterable[MetricSample]) -> None:
        self._samples = samples

    def collect(self) -> Iterable[Metric]:
        return families(self._samples)


def text_of(samples: Iterable[MetricSample]) -> str:
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Served(samples))
    return generate_latest(registry).decode()


ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]))


@given(table=ANY_TEXT, pipeline=ANY_TEXT, value=st.floats(allow_nan=False))
def test_any_label_is_read_back_as_it_was(table: str, pipeline: str, value: float) -> None:
    text = text_of([MetricSample(metrics.RUN_INFO, value, ("r", pipeline, table))])
    [family] = text_string_to_metric_families(text)
    [sample] = family.samples
    assert sample.labels == {"run": "r", "pipeline": pipeline, "table": table}
    assert sample.value == value
    assert (family.type, family.documentation) == ("gauge", metrics.RUN_INFO.help)


def test_what_is_unknown_is_absent_and_not_0() -> None:
    samples = [MetricSample(metrics.LIVE_LAG_RECORDS, None, ("orders",)), MetricSample(metrics.UP, 0, ("kafka",))]
    assert [family.name for family in families(samples)] == ["anabranch_up"]


def test_samples_of_one_metric_are_one_family_wherever_they_come_from() -> None:
    samples = [
        MetricSample(metrics.QUARANTINED, 3, ("orders", "live")),
        MetricSample(metrics.UP, 1, ("kafka",)),
        MetricSample(metrics.QUARANTINED, 4, ("orders", "replay")),
    ]
    assert [(family.name, len(family.samples)) for family in families(samples)] == [
        ("anabranch_up", 1),
        ("anabranch_quarantined", 2),
    ]
    assert 'anabranch_quarantined_total{pipeline="orders",traffic="replay"} 4.0' in text_of(samples)
