"""Live's progress, written to a file after each batch so that it can be read without Spark."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from anabranch.adapters.embedded.state import write_document
from anabranch.live.errors import LiveStateUnreadableError
from anabranch.live.layout import LiveLayout
from anabranch.live.record import VERSION, load_document, unreadable
from anabranch.plan.slices import Offsets

REMEMBERED = 20


@dataclass(frozen=True)
class BatchDone:
    """The counts of one batch; all 0 for a batch that was found in the table after a restart."""

    batch: int
    records: int
    rows: int
    quarantined: int
    started: float
    ended: float
    event_time: str | None
    """Event time of the newest event of the batch."""
    late: int = 0


@dataclass(frozen=True)
class Progress:
    """Counts since the driver started."""

    offsets: Mapping[str, list[int]] = field(default_factory=dict)
    """[start, end) of the last batch, by partition."""
    event_time: str | None = None
    """Event time of the newest event."""
    batches: int = 0
    records: int = 0
    rows: int = 0
    quarantined: int = 0
    recent: tuple[BatchDone, ...] = ()
    group_error: str | None = None
    """Kafka's error of the last commit to the consumer group, if any. The table has the authoritative position."""
    late: int = 0
    """Events that came after their window was written and are not in it."""
    interval: float | None = None
    """Seconds between the triggers of two batches."""

    @property
    def records_per_second(self) -> float | None:
        """Over the recent batches, including the time between them."""
        if not self.recent:
            return None
        seconds = self.recent[-1].ended - self.recent[0].started
        return sum(batch.records for batch in self.recent) / seconds if seconds > 0 else None

    def after(self, done: BatchDone, offsets: Offsets, group_error: str | None) -> Progress:
        return Progress(
            {str(p): [start, end] for p, (start, end) in sorted(offsets.items())},
            max(filter(None, (self.event_time, done.event_time)), default=None),
            self.batches + 1,
            self.records + done.records,
            self.rows + done.rows,
            self.quarantined + done.quarantined,
            (*self.recent, done)[-REMEMBERED:],
            group_error,
            self.late + done.late,
            self.interval,
        )


def save_progress(path: Path, progress: Progress) -> None:
    write_document(path, {"version": VERSION, **asdict(progress)})


def load_progress(path: Path) -> Progress | None:
    document = load_document(path)
    if document is None:
        return None
    try:
        recent = tuple(BatchDone(**each) for each in document.pop("recent"))
        return Progress(**document, recent=recent)
    except (KeyError, TypeError) as error:
        raise unreadable(path) from error


class ProgressKeeper:
    """Writes progress to the consumer group and to a file after each batch. Kafka's errors do not stop live."""

    def __init__(
        self,
        path: Path,
        commit: Callable[[Mapping[int, int]], str | None],
        say: Callable[[str], None],
        interval: float | None = None,
    ) -> None:
        self._path = path
        self._commit = commit
        self._say = say
        self._progress = Progress(interval=interval)

    def begin(self) -> None:
        """Replace the progress of an earlier driver, whose counts are not of this one."""
        save_progress(self._path, self._progress)

    def commit_group(self, position: Mapping[int, int]) -> None:
        error = self._commit(position)
        self._progress = replace(self._progress, group_error=error)
        if error is not None:
            self._say(f"offset commit to the consumer group failed: {error}")

    def report(self, done: BatchDone, offsets: Offsets) -> None:
        self._progress = self._progress.after(done, offsets, self._progress.group_error)
        save_progress(self._path, self._progress)
        seconds = done.ended - done.started
        counts = f"{done.records} records, {done.rows} rows, {done.quarantined} quarantined"
        counts += f", {done.late} late" if done.late else ""
        self._say(f"batch {done.batch}: {counts}, {seconds:.2f} s")


def quarantined(state: Path, pipeline: str) -> int | None:
    """Records that the pipeline's live has put into quarantine since it was started; None: it never ran, or its
    progress can't be read."""
    try:
        progress = load_progress(LiveLayout(state, pipeline).progress)
    except LiveStateUnreadableError:
        return None
    return None if progress is None else progress.quarantined
