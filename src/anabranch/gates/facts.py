"""The input of every gate: the backfill, an observation of the cluster and the table now, and recorded evidence."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from anabranch.contract.backfill import Backfill
from anabranch.contract.pipeline import Pipeline
from anabranch.gates.evidence import Evidence
from anabranch.plan.drift import Drift
from anabranch.plan.plan import Plan
from anabranch.plan.quotas import QuotaForecast
from anabranch.plan.retention.facts import RetentionFacts
from anabranch.plan.slices import Slice
from anabranch.runs.audit import ChainVerdict


@dataclass(frozen=True)
class LiveReading:
    """Live's lag as it is observed from outside."""

    lag: int | None
    """In offsets; None: live's position is unknown."""
    by: str | None
    """The source: `group`, the consumer group, or `table`, live's own commits."""
    refused: str | None = None
    """Why it could not be read; None: it was."""


@dataclass(frozen=True)
class ClosingReading:
    """Whether the run can be recorded when it closes."""

    folder: str
    refused: str | None
    """Why no file could be written there."""
    free: int
    """Free bytes on that disk."""
    audit: ChainVerdict


@dataclass(frozen=True)
class MetricsReading:
    """The response of the context's metrics endpoint."""

    url: str | None
    """None: the context names no port."""
    names: tuple[str, ...] = ()
    """The requested metrics that it serves."""
    missing: tuple[str, ...] = ()
    refused: str | None = None
    """Why it could not be read."""


def read_live(
    log_ends: Mapping[int, int], of_group: Callable[[], Mapping[int, int]], of_table: Callable[[], Mapping[int, int]]
) -> LiveReading:
    """Live's lag by its consumer group; if that has committed no offset, by live's commits to the table."""
    position, by = of_group(), "group"
    if not position:
        position, by = of_table(), "table"
    if not position:
        return LiveReading(None, None)
    return LiveReading(sum(max(0, log_ends[p] - at) for p, at in position.items() if p in log_ends), by)


def read_metrics(url: str, text: str, wanted: tuple[str, ...], pipeline: str) -> MetricsReading:
    """Which of the wanted metrics a text in Prometheus' format has with the label of this pipeline.

    Raises ValueError if the text is not in that format.
    """
    from prometheus_client.parser import text_string_to_metric_families

    samples = (sample for family in text_string_to_metric_families(text) for sample in family.samples)
    served = {sample.name for sample in samples if sample.labels.get("pipeline") == pipeline}
    found = tuple(name for name in wanted if name in served)
    return MetricsReading(url, found, tuple(name for name in wanted if name not in served))


@dataclass(frozen=True)
class RetentionReading:
    """When the topic deletes what is still to be read, as observed now."""

    facts: RetentionFacts
    slices: tuple[Slice, ...]
    """Those that are not staged."""
    withheld: str | None
    """Why an extension of retention that the contract permits may not be used now."""


@dataclass(frozen=True)
class GateFacts:
    now: datetime
    plan: Plan
    contract: Backfill
    pipeline: Pipeline
    drifts: tuple[Drift, ...]
    """Changes since the plan of inputs that the run still needs."""
    live: LiveReading
    closing: ClosingReading
    residency: str | None
    """The target's `residency` property; None: not set."""
    metrics: MetricsReading
    reaches: tuple[str, ...] | None
    """Imports and calls of the transform's code that may reach outside, as file:line name; None: it can't be read."""
    approvers: tuple[str, ...] | None = None
    """The approvers; None: this context requires no approval."""
    quota: QuotaForecast | None = None
    """What the brokers can do to hold the replay to a rate; None: not looked at."""
    evidence: Mapping[str, Evidence] = field(default_factory=dict)
    """By kind, the newest that is bound to this backfill."""
    retention: RetentionReading | None = None
    """None: nothing is left to read."""
    run: str | None = None
    """None: the contract was not submitted."""

    @property
    def measure(self) -> str:
        """The command that measures what is missing or too old."""
        return "anabranch gates -f CONTRACT" if self.run is None else f"anabranch gates {self.run}"
