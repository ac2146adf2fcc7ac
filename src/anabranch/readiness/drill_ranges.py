"""Which small ranges a drill may replay, the best first, and the contract for one of them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from anabranch.gates.stakes import DRILL_LABEL
from anabranch.plan.strategies.start_snapshots import TableSnapshot
from anabranch.plan.target_range import PartitionRange
from anabranch.project.model import API_VERSION
from anabranch.project.quantities import format_moment

CANDIDATES = 10
"""How many of the last partitions are considered."""


def ranges_by_partition(filled: Sequence[tuple[PartitionRange, int]]) -> Iterator[dict[str, Any]]:
    """Of partitions with their rows, newest first: the smallest of the last finished ones first.

    The newest partition comes last: live may still write to it.
    """
    for part, _ in (*sorted(filled[1 : CANDIDATES + 1], key=lambda each: each[1]), *filled[:1]):
        yield {"eventTime": {"from": format_moment(part.start), "to": format_moment(part.end)}}


def ranges_since(snapshots: Iterable[TableSnapshot], position: Mapping[int, int]) -> Iterator[dict[str, Any]]:
    """Of a table that is replaced as a whole: since each snapshot but that of live's `position`, then everything."""
    for each in snapshots:
        if each.position != position:
            yield {"sinceSnapshot": each.snapshot}
    yield {"everything": True}


def drill_contract(pipeline: str, owner: str, requested: Mapping[str, Any]) -> dict[str, Any]:
    """Labelled as a drill's, by which its run is found again should the process be killed."""
    return {
        "apiVersion": API_VERSION,
        "kind": "Backfill",
        "metadata": {"name": f"drill-{pipeline}"[:63].rstrip("-"), "labels": {DRILL_LABEL: pipeline}},
        "spec": {
            "pipeline": pipeline,
            "reason": "A readiness drill: replayed beside production and measured, never promoted.",
            "owner": owner,
            "range": dict(requested),
            "rollback": {"authority": owner},
        },
    }


def is_drill_of(contract: Mapping[str, Any], pipeline: str) -> bool:
    """Whether a run's contract is that of a drill of this pipeline."""
    labels: Any = contract.get("metadata", {}).get("labels", {})
    return bool(labels.get(DRILL_LABEL) == pipeline)
