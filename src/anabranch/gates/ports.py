"""The ports of the gates: a read-only observer, and probes that remove what they create."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from anabranch.gates.checks.compatibility import Probe
from anabranch.gates.checks.rollback import RehearsedRollback
from anabranch.gates.checks.storage_path import StoragePath
from anabranch.gates.facts import ClosingReading, LiveReading, MetricsReading, RetentionReading
from anabranch.plan.drift import ObservedInputs
from anabranch.plan.quotas import QuotaForecast
from anabranch.plan.slices import Offsets
from anabranch.runs.heads import Head


class GateObserver(Protocol):
    """Observes one pipeline and its project as they are now. Changes nothing and may be repeated at any time."""

    def require_answer(self) -> None:
        """Raise KafkaUnreachableError at once if the cluster does not answer."""

    def inputs(self) -> ObservedInputs:
        """The plan's pinned inputs. Raises KafkaUnreachableError; a missing topic or table is an observation."""

    def live(self) -> LiveReading:
        """Live's lag. A refusal is part of the reading; raises KafkaUnreachableError only."""

    def retention(self) -> RetentionReading | None:
        """When the topic deletes what is still to be read; None: nothing is. Raises KafkaUnreachableError."""

    def closing(self) -> ClosingReading:
        """Whether a record can be written and the audit chain verifies. Removes the test file that it writes."""

    def residency(self) -> str | None:
        """The target's `residency` property; None: not set. Raises if the table does not exist."""

    def metrics(self) -> MetricsReading:
        """The response of the metrics endpoint; a failure is a reading too. Raises nothing."""

    def quota(self, bytes_per_second: int | None) -> QuotaForecast:
        """What the brokers can do to hold the replay to this rate. Raises KafkaUnreachableError only."""

    def reaches(self) -> tuple[str, ...] | None:
        """Imports and calls of the transform that may reach outside; None: the code can't be read. Raises nothing."""


@dataclass(frozen=True)
class SampledRecord:
    partition: int
    offset: int
    flaw: str | None
    """Why it can't be decoded; None: it can."""


@dataclass(frozen=True)
class TableIdentity:
    """The identity of the table that a rehearsed rollback is valid for."""

    table: str
    schema: str
    spec: int


class GateProbes(Protocol):
    """Measures evidence. Everything it creates is removed before it returns or raises."""

    @property
    def user(self) -> str:
        """The Kafka user that measures."""

    def cluster(self) -> str:
        """The cluster's id. Raises KafkaUnreachableError."""

    def table(self) -> TableIdentity:
        """The identity of the target as it is now. Raises if the table does not exist."""

    def try_cluster(self) -> tuple[Sequence[Probe], Iterable[str]]:
        """Try every operation once; returns the outcomes, and the names of what could not be removed."""

    def storage(self) -> StoragePath:
        """Read a few megabytes from the plan's first offsets on. A refusal is part of the result.

        Raises KafkaUnreachableError.
        """

    def read_places(
        self, places: Sequence[Offsets], flaw: Callable[[bytes | None], str | None], most: int
    ) -> Sequence[Mapping[int, tuple[SampledRecord, ...]]]:
        """At most `most` records of each partition of each place. A partition that did not answer in time is left out;
        where the cluster refuses, nothing is returned. Raises KafkaUnreachableError."""

    def staged(self, run: str) -> Head | None:
        """The newest snapshot of the run's staging; None: it has staged nothing. Raises if the table does not exist."""

    def rehearse_rollback(self, name: str, staged: Head | None) -> RehearsedRollback:
        """Promote and roll back on a scratch branch `name` of the table: the snapshot `staged`, or an empty range.

        Main is unchanged. Raises AnabranchError if the table forbids it, and any exception of the catalog client.
        """
