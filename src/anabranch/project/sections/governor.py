"""The `governor` section: how a replay yields to live."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Annotated

from pydantic import AfterValidator, Field, Strict, model_validator

from anabranch.project.model import Name, Part, Switch, Words
from anabranch.project.quantities import Duration, Size
from anabranch.project.refusals import Problem, refusal, refuse
from anabranch.project.secrets import Secret
from anabranch.project.urls import split_url

_EXAMPLE = "https://prometheus.example.com"
MOST_PRESSURE = 10.0

Number = Annotated[float, Strict(), Field(ge=0)]
Ratio = Annotated[float, Strict(), Field(gt=0, le=100)]


def _url(text: str) -> str:
    parts = split_url(text, ("https", "http"), _EXAMPLE)
    if parts.username or parts.query:
        raise refuse("the address must have neither user nor parameters", f"{_EXAMPLE}, and token as a separate key")
    return text


class PrometheusQuery(Part):
    """One metric of the brokers, and the value that live needs of it."""

    name: Name = Field(description="Its name in status, metrics and reasons.", examples=["request-handler-idle"])
    query: Words = Field(
        description="PromQL; of several series the worst counts.",
        examples=["min(kafka_server_kafkarequesthandlerpool_requesthandleravgidlepercent)"],
    )
    at_most: Number | None = Field(default=None, description="The target: the highest good value.", examples=[0.5])
    at_least: Number | None = Field(default=None, description="The target: the lowest good value.", examples=[0.3])
    stop: Switch = Field(
        default=False,
        description="Whether no slice begins while the value is beyond its target, such as for partitions under "
        "their minimum of in-sync replicas. If false, the replay slows down as for live's own signals.",
        examples=[True],
    )

    @model_validator(mode="after")
    def _one_target(self) -> PrometheusQuery:
        if (self.at_most is None) == (self.at_least is None):
            raise refuse("a query needs either atMost or atLeast", "atMost: 0.5", "atMost")
        if self.at_least == 0:
            raise refuse("every value is at least 0", "atLeast: 0.3", "atLeast")
        return self

    def pressure(self, values: list[float]) -> float:
        """The worst value over the target, finite; above 1: beyond it."""
        if self.at_least is not None:
            worst = min(values)
            return self.at_least / worst if worst > self.at_least / MOST_PRESSURE else MOST_PRESSURE
        worst = max(values)
        if not self.at_most:
            return 0.0 if worst <= 0 else MOST_PRESSURE
        return min(MOST_PRESSURE, max(0.0, worst / self.at_most))  # a quantile of a histogram may be +Inf


class PrometheusSettings(Part):
    """A Prometheus server with metrics of the brokers."""

    url: Annotated[str, AfterValidator(_url)] = Field(description="Address of the server.", examples=[_EXAMPLE])
    token: Secret | None = Field(
        default=None, description="Reference to a bearer token.", examples=["${env:PROMETHEUS_TOKEN}"]
    )
    queries: Annotated[tuple[PrometheusQuery, ...], Field(min_length=1)] = Field(
        description="The metrics that count as signals.",
        examples=[[{"name": "under-min-isr", "query": "sum(kafka_cluster_partition_underminisr)", "atMost": 0}]],
    )

    @model_validator(mode="after")
    def _distinct(self) -> PrometheusSettings:
        names = [each.name for each in self.queries]
        repeated = [index for index, name in enumerate(names) if name in names[:index]]
        if repeated:
            raise refusal(
                *(Problem("the name is used twice", "another name", ("queries", index, "name")) for index in repeated)
            )
        return self


class GovernorSettings(Part):
    """How a replay yields to live."""

    enabled: Switch = Field(
        default=True, description="Whether a replay is slowed down while live is pressed.", examples=[True]
    )
    tick: Duration = Field(
        default=timedelta(seconds=5),
        description="Time between two decisions. The times of the law are multiples of it: a raise each 3 ticks, a "
        "hold of 6, a rest of 12.",
        examples=["5s"],
    )
    minimum_rate: Size = Field(
        default=1_000_000,
        description="Bytes per second that a replay always has, except while no slice may begin.",
        examples=["1MB"],
    )
    reference_rate: Size = Field(
        default=40_000_000,
        description="Bytes per second of a replay alone, where no rehearsal measured it. A replay starts at 5 % of it.",
        examples=["40MB"],
    )
    alone: Duration = Field(
        default=timedelta(seconds=20),
        description="How long live is observed without the replay before the first slice of a replay of more than "
        "1,000,000 offsets, if no rehearsal observed it.",
        examples=["20s"],
    )
    lag: Duration = Field(
        default=timedelta(seconds=10),
        description="Target for live's lag; twice its 95th percentile without the replay where that is more.",
        examples=["10s"],
    )
    lag_limit: Duration = Field(
        default=timedelta(seconds=30),
        description="Live's lag from which a replay drops to its minimum rate at once, unless the pipeline sets "
        "live.maxLatency; three times its 95th percentile without the replay where that is more.",
        examples=["30s"],
    )
    latency_ratio: Ratio = Field(
        default=1.25, description="Target for live's commit latency over that without the replay.", examples=[1.25]
    )
    batch_ratio: Ratio = Field(
        default=0.8,
        description="Target for the duration of live's batches over their interval; 1.25 times that without the "
        "replay where that is more.",
        examples=[0.8],
    )
    lost_hold: Duration = Field(
        default=timedelta(seconds=15),
        description="How long a signal may be unreadable before the rate is no longer raised.",
        examples=["15s"],
    )
    lost_minimum: Duration = Field(
        default=timedelta(seconds=30),
        description="How long a signal may be unreadable before the replay drops to its minimum rate.",
        examples=["30s"],
    )
    lost_pause: Duration = Field(
        default=timedelta(minutes=5),
        description="How long a signal may be unreadable before no slice begins until it can be read again.",
        examples=["5m"],
    )
    prometheus: PrometheusSettings | None = Field(
        default=None,
        description="Metrics of the brokers as further signals.",
        examples=[{"url": _EXAMPLE}],
    )

    @property
    def stops(self) -> frozenset[str]:
        """The metrics that let no slice begin while they are beyond their target."""
        queries = () if self.prometheus is None else self.prometheus.queries
        return frozenset(each.name for each in queries if each.stop)

    @model_validator(mode="after")
    def _consistent(self) -> GovernorSettings:
        problems = list(self._problems())
        if problems:
            raise refusal(*problems)
        return self

    def _problems(self) -> Iterator[Problem]:
        if self.tick < timedelta(seconds=1) or self.tick > timedelta(minutes=1):
            yield Problem("a tick is between 1 s and 1 min", "tick: 5s", ("tick",))
        if self.minimum_rate > self.reference_rate:
            yield Problem("minimumRate is above referenceRate", "minimumRate: 1MB", ("minimumRate",))
        if self.lag > self.lag_limit:
            yield Problem("lag is above lagLimit", "lag: 10s", ("lag",))
        if not self.lost_hold <= self.lost_minimum <= self.lost_pause:
            yield Problem("lostHold, lostMinimum and lostPause must not decrease", "lostPause: 5m", ("lostPause",))
