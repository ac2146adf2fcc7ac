"""One batch of live: decoded, bad records set aside, transformed, and committed to main exactly once."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from threading import Lock

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from anabranch.adapters.checkpoints.log import batch_offsets, query_id
from anabranch.adapters.iceberg import properties as props
from anabranch.adapters.iceberg.catalog import IcebergCatalog
from anabranch.adapters.iceberg.live import TOPIC, LiveCommit, last_live_commit, live_commit_id
from anabranch.adapters.iceberg.target import IcebergTarget
from anabranch.adapters.spark.decode.decode import bad_of, decode
from anabranch.adapters.spark.source.zone_counter import count_groups
from anabranch.adapters.spark.transform.load import LoadedTransform
from anabranch.adapters.spark.write.quarantine import Batch, QuarantineTable
from anabranch.contract.pipeline import KEYED, Pipeline
from anabranch.crashpoints import reach
from anabranch.live.errors import CONTINUES, OutOfStepError
from anabranch.live.progress import BatchDone
from anabranch.live.state_keeping import StateKeeper
from anabranch.live.writing import write_of
from anabranch.plan.lookup_tables import pins_document
from anabranch.plan.offsets.zones import EventGroup, Zone, zones_of
from anabranch.plan.slices import Offsets
from anabranch.promote.history import Author

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


class StopAskedError(Exception):
    """Ends the query before the next batch, when live was asked to stop."""


@dataclass(frozen=True)
class Seen:
    """What was counted while a batch was decoded."""

    records: int
    bad: int
    event_time: str | None
    late: int = 0
    """Events that a window was already written without."""


@dataclass
class BatchWriter:
    """What Structured Streaming calls for each batch.

    A batch is run again only after a restart, and only the last one: so the table is asked whether it has the batch
    already when the first one comes, and never after.
    """

    catalog: IcebergCatalog
    pipeline: Pipeline
    transform: LoadedTransform
    columns: StructType
    """The target's."""
    topic: str
    """UUID."""
    checkpoint: Path
    still_same_topic: Callable[[], object]
    """Raises if the topic was deleted or made again."""
    commit_group: Callable[[dict[int, int]], object]
    report: Callable[[BatchDone, Offsets], None]
    keep_zones: Callable[[Sequence[Zone]], object] = lambda _zones: None
    """Told of a batch that is in the table. Must not raise: the zone map can be built again, the batch can't."""
    clock: Callable[[], float] = time.time
    failure: BaseException | None = None
    """The first error of a batch as it was raised; Spark passes on only its text."""
    last: int | None = None
    """The last batch that is done."""
    _stopping: bool = False
    _resumed: bool = False
    _at_work: Lock = field(default_factory=Lock)

    def __post_init__(self) -> None:
        # Opened once: each opening holds connections, and live runs for months.
        self._tables = self.catalog.open()
        self._quarantine = QuarantineTable(self.catalog, self.pipeline)
        self._commit = write_of(self.catalog, self.pipeline, self.transform, self.columns, self._is_last)
        target = IcebergTarget(self._tables, self.pipeline.spec.target.table)
        keyed = self.pipeline.spec.pipeline_class in KEYED
        self._states = StateKeeper(target, self.pipeline.spec.state) if keyed else None
        last = self._last_commit()
        self._newest = None if last is None else last.event_time

    def __call__(self, batch: DataFrame, number: int) -> None:
        with self._at_work:
            if self._stopping:
                raise StopAskedError
            try:
                self._run(batch, number)
                self.last = number
            except BaseException as error:
                self.failure = self.failure or error
                raise

    def shape(self, records: DataFrame) -> DataFrame:
        """What the stream itself does with the records before they come here as batches: nothing, without state."""
        return records

    def finish(self) -> None:
        """Return once no batch is at work; none begins after that."""
        with self._at_work:
            self._stopping = True

    def _run(self, batch: DataFrame, number: int) -> None:
        started = self.clock()
        query = query_id(self.checkpoint)
        offsets = batch_offsets(self.checkpoint, number, self.pipeline.spec.source.topic)
        commit = live_commit_id(query, number)
        if not self._resumed and self._is_there(commit, number, offsets):
            self._again(batch)
            seen, rows = Seen(0, 0, None), 0
        else:
            seen, rows = self._write(batch, query, number, offsets)
        self._resumed = True
        reach("live.group.before")
        self.commit_group({partition: end for partition, (_, end) in offsets.items()})
        reach("live.group.after")
        done = BatchDone(number, seen.records, rows, seen.bad, started, self.clock(), seen.event_time, seen.late)
        self.report(done, offsets)

    def _again(self, batch: DataFrame) -> None:
        """What a batch that is in the table still needs done: nothing, where a batch is only its rows."""

    def _is_there(self, commit: str, number: int, offsets: Offsets) -> bool:
        """Whether the table has the batch. If not, it must stand exactly where the batch begins."""
        last = self._last_commit()
        if last is not None and last.id == commit:
            return True
        if last is None or last.topic != self.topic:
            in_step = number == 0
        else:
            in_step = all(offsets.get(p, (None,))[0] == end for p, end in last.position.items())
        if not in_step:
            raise OutOfStepError(
                f"Live's checkpoint goes on with batch {number}, and {self.pipeline.spec.target.table} does not stand "
                f"where that batch begins{'' if last is None else f': its last one of live is {last.id}'}.",
                state=CONTINUES,
                hint=f"if the table was set back or made anew on purpose, remove {self.checkpoint}: "
                "live then goes on from where the table stands",
                batch=number,
            )
        return False

    def _write(self, batch: DataFrame, query: str, number: int, offsets: Offsets) -> tuple[Seen, int]:
        self.transform.lookups.refresh()
        # Kept, because the records are gone through three times: to count, to set aside, to write.
        decoded = decode(batch, self.pipeline.spec).persist()
        try:
            groups = count_groups(decoded)
            seen = seen_of(groups)
            # Asked after reading: a topic made again never gets its former UUID back.
            self.still_same_topic()
            commit = live_commit_id(query, number)
            reach("live.quarantine.before")
            aside = Batch(commit, commit, None, live_commit_id(query, 0).removesuffix("0"))
            self._quarantine.set_aside(bad_of(decoded), aside, seen.bad)
            reach("live.quarantine.after")
            reach("live.commit.before")
            rows = self._commit(decoded, commit, self._properties(commit, query, number, offsets, seen))
            reach("live.commit.after")
        finally:
            decoded.unpersist()
        self.keep_zones(zones_of(offsets, groups))
        landed = self._last_commit()
        if landed is None or landed.id != commit:
            return seen, rows or 0
        if self._states is not None:
            self._states.after(landed.snapshot, self.clock())
        return seen, landed.rows if rows is None else rows

    def _is_last(self, commit: str) -> bool:
        last = self._last_commit()
        return last is not None and last.id == commit

    def _properties(self, commit: str, query: str, number: int, offsets: Offsets, seen: Seen) -> dict[str, str]:
        self._newest = max(filter(None, (self._newest, seen.event_time)), default=None)
        newest = {} if self._newest is None else {props.EVENT_TIME: self._newest}
        pins = self.transform.lookups.pins
        looked_up = {props.LOOKUPS: json.dumps(pins_document(pins), separators=(",", ":"))} if pins else {}
        return {
            **newest,
            **looked_up,
            props.AUTHOR: Author.LIVE.value,
            props.COMMIT: commit,
            props.PIPELINE: self.pipeline.metadata.name,
            props.CODE: self.transform.digest,
            props.QUERY: query,
            props.BATCH: str(number),
            props.OFFSETS: props.write_offsets(offsets),
            TOPIC: self.topic,
        }

    def _last_commit(self) -> LiveCommit | None:
        table = self._tables.load_table(self.pipeline.spec.target.table)
        return last_live_commit(table, self.pipeline.metadata.name)


def seen_of(groups: Iterable[EventGroup], late: int = 0) -> Seen:
    counted = list(groups)
    newest = max((each.high for each in counted if each.high is not None), default=None)
    return Seen(
        sum(each.count for each in counted),
        sum(each.bad for each in counted),
        None if newest is None else _text(newest),
        late,
    )


def _text(micros: int) -> str:
    seconds, rest = divmod(micros, 1_000_000)
    moment = datetime.fromtimestamp(seconds, timezone.utc).replace(microsecond=rest)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
