"""What a run has taken for a time, and whether it is gone when the run is closed: quotas, topics, branches, Spark."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from anabranch.contract.consumer_groups import REPLAY_PREFIX
from anabranch.errors import AnabranchError
from anabranch.gates.checks.compatibility import SCRATCH
from anabranch.runs.lease_holder import Whereabouts, holder_name, whereabouts
from anabranch.runs.run_lease import RunLease


@dataclass(frozen=True)
class CapacityLook:
    """One look at one kind of capacity, after it should be gone."""

    looked_at: str
    """Where, in words."""
    left: tuple[str, ...] = ()
    """What is still there, by name."""
    unknown: str | None = None
    """Why it can't be known, if it can't."""

    def document(self) -> dict[str, Any]:
        return {"looked_at": self.looked_at, "left": list(self.left), "unknown": self.unknown}


CapacityLooks = Callable[[], Mapping[str, CapacityLook]]
"""Looks at everything, by kind. Changes nothing, and raises nothing: what can't be read is unknown."""


def capacity_document(looks: Mapping[str, CapacityLook]) -> dict[str, Any]:
    """As the closure record has it. `verdict` is `returned` only if everything was seen to be gone."""
    verdict = "returned"
    if any(each.unknown is not None for each in looks.values()):
        verdict = "unknown"
    if any(each.left for each in looks.values()):
        verdict = "left"
    return {"verdict": verdict, **{kind: each.document() for kind, each in looks.items()}}


def left_behind(record: Mapping[str, Any]) -> list[str]:
    """What a closure record says is still there or unknown, in words; empty: nothing."""
    capacity = record.get("capacity", {})
    kinds = {kind: each for kind, each in capacity.items() if kind != "verdict"}
    left = [f"{kind}: {', '.join(each['left'])}" for kind, each in kinds.items() if each["left"]]
    return left + [f"{kind}: unknown, {each['unknown']}" for kind, each in kinds.items() if each["unknown"]]


@dataclass(frozen=True)
class CapacitySurveyor:
    """Looks at everything that a run takes for a time."""

    lease: RunLease
    table: str
    quotas: Callable[[str], Collection[str]]
    """The quotas of a client id at the brokers, in words."""
    topics: Callable[[], Collection[str]]
    """The names of all topics."""
    refs: Callable[[str], Collection[str]]
    """The table's branches and tags that name a run."""

    def __call__(self) -> Mapping[str, CapacityLook]:
        """`CapacityLooks`."""
        run_id, prefixes = self.lease.run_id, (f"{SCRATCH}-", self._client_id)
        return {
            "quotas": self._quotas(),
            "topics": _look(
                f"topics named {SCRATCH}-* and {self._client_id}* on the cluster",
                lambda: [name for name in self.topics() if name.startswith(prefixes)],
            ),
            "branches": _look(f"branches and tags of {self.table} that name the run", lambda: self.refs(run_id)),
            "spark": self._processes(),
        }

    @property
    def _client_id(self) -> str:
        return f"{REPLAY_PREFIX}-{self.lease.run_id}"

    def _quotas(self) -> CapacityLook:
        if not self.lease.reader.quotas(run_id=self.lease.run_id):
            return CapacityLook("the control database: the run has set no broker quota")
        where = f"client quotas of the cluster for client-id {self._client_id}"
        return _look(where, lambda: self.quotas(self._client_id))

    def _processes(self) -> CapacityLook:
        """Spark ends with the process that started it; each process that worked on the run has held its lease."""
        acquired = ("lease.acquire", "lease.take_over")
        records = self.lease.reader.audit(run_id=self.lease.run_id)
        holders = {str(json.loads(each.details)["holder"]) for each in records if each.action in acquired}
        found = {holder: whereabouts(holder) for holder in sorted(holders - {holder_name(self.lease.actor)})}
        elsewhere = [holder for holder, where in found.items() if where is Whereabouts.ELSEWHERE]
        return CapacityLook(
            f"{len(found)} other processes that held the run's lease, with the Spark that each had started",
            tuple(holder for holder, where in found.items() if where is Whereabouts.RUNNING),
            f"on other machines: {', '.join(elsewhere)}" if elsewhere else None,
        )


def _look(where: str, find: Callable[[], Collection[str]]) -> CapacityLook:
    try:
        return CapacityLook(where, tuple(sorted(find())))
    except AnabranchError as error:
        return CapacityLook(where, unknown=error.what)
