"""The transform's argument `run`: clock, random numbers, ids and lookups that are the same in every run."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from anabranch.adapters.spark.windows.windows import window_column
from anabranch.contract.event_window import EventWindow
from anabranch.contract.pipeline import Pipeline
from anabranch.errors import NOTHING_CHANGED, AnabranchError, ExitCode

_BITS = 53
"""The integers that a double represents exactly."""


class NoWindowError(AnabranchError):
    code = "transform.no-window"
    exit_code = ExitCode.USAGE


@dataclass(frozen=True)
class TransformRun:
    """The same in live and in every replay. Spark's `rand(seed)` depends on the distribution of rows to tasks, which a
    replay changes; these depend only on the event's partition and offset."""

    seed: int
    """The pipeline's name: two pipelines over one topic get different numbers."""

    look_up: Callable[[str], DataFrame]

    declared: EventWindow | None = None

    @classmethod
    def of(cls, pipeline: Pipeline, look_up: Callable[[str], DataFrame]) -> TransformRun:
        digest = hashlib.sha256(pipeline.metadata.name.encode()).digest()
        return cls(int.from_bytes(digest[:6], "big"), look_up, pipeline.spec.window)

    def lookup(self, name: str) -> DataFrame:
        """A lookup table that the pipeline declares: at the plan's snapshot, or in live at the batch's current one."""
        return self.look_up(name)

    @property
    def window(self) -> Column:
        """The window that the pipeline declares, as column `_window`, by which a windowed transform groups."""
        if self.declared is None:
            raise NoWindowError(
                "The transform uses `run.window`, but the pipeline declares no window.",
                state=NOTHING_CHANGED,
                hint="write class: windowed and window: {kind: tumbling, size: 1h, lateness: 10m} in the pipeline",
            )
        return window_column(self.declared)

    @property
    def clock(self) -> Column:
        """The record's broker timestamp."""
        return F.col("_timestamp")

    def random(self, name: str) -> Column:
        """A number from 0 to less than 1 for each event; another `name`, another number."""
        word = F.xxhash64(F.lit(self.seed), F.lit(name), *self._place)
        return F.shiftrightunsigned(word, 64 - _BITS).cast("double") / F.lit(float(1 << _BITS))

    def uuid(self, name: str) -> Column:
        """An id for each event, written as a UUID; another `name`, another id."""
        place = F.concat_ws("/", F.lit(str(self.seed)), F.lit(name), *self._place)
        return F.regexp_replace(F.md5(place), "^(.{8})(.{4})(.{4})(.{4})(.{12})$", "$1-$2-$3-$4-$5")

    @property
    def _place(self) -> tuple[Column, ...]:
        return F.col("_topic"), F.col("_partition"), F.col("_offset")
