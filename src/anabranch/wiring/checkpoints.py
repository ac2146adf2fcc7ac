"""The states that a replay of a pipeline may start from, and which is the last good one before a moment. No JVM."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from anabranch.adapters.iceberg.facts import live_history, shown_axis
from anabranch.adapters.iceberg.states import states
from anabranch.adapters.iceberg.target import IcebergTarget
from anabranch.adapters.kafka.facts import KafkaSource
from anabranch.contract.pipeline import Pipeline
from anabranch.plan.axis import WholeTable
from anabranch.plan.offsets import lookups, reach
from anabranch.plan.states import State, last_good
from anabranch.runs.canonical import instant_text
from anabranch.wiring.target_catalog import target_catalog
from anabranch.wiring.workplace import Workplace


@dataclass(frozen=True)
class Checkpoints:
    table: str
    states: tuple[State, ...]
    """Newest first."""
    before: datetime | None = None
    last_good: State | None = None
    """The newest that holds no event from `before` on; None also if nobody asked."""

    def document(self) -> dict[str, Any]:
        return {
            "table": self.table,
            "before": None if self.before is None else instant_text(self.before),
            "last_good": None if self.last_good is None else self.last_good.snapshot,
            "checkpoints": [self._row(each) for each in self.states],
        }

    def _row(self, state: State) -> dict[str, Any]:
        return {
            "kind": "table",
            "snapshot": state.snapshot,
            "tag": state.tag,
            "offsets": {str(p): end for p, end in sorted(state.position.items())},
            "event_time": state.event_time,
            "at": instant_text(state.at),
            "last_good": state == self.last_good,
        }


def find_checkpoints(workplace: Workplace, pipeline: Pipeline, before: datetime | None) -> Checkpoints:
    """Every state of the target that is kept. The topic is asked only if there is a `before` to find in it."""
    spec = pipeline.spec
    table = IcebergTarget(target_catalog(workplace, pipeline), spec.target.table).load()
    found = states(table, pipeline.metadata.name)
    if before is None:
        return Checkpoints(spec.target.table, found)
    live = live_history(table, table.current_snapshot(), pipeline.metadata.name).ends
    window = lookups(
        WholeTable(shown_axis(table, spec.event_time.field), before), spec.event_time.slack, everything=False
    )
    source = KafkaSource(workplace.kafka).measure(spec.source.topic, window)
    damage = {
        number: min(live.get(number, 0), reach(facts, window, spec.event_time.slack, live.get(number, 0)).start)
        for number, facts in source.partitions.items()
    }
    return Checkpoints(spec.target.table, found, before, last_good(found, source.uuid, damage))
