"""How far live has come, written after each batch for whoever asks with no Spark."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from anabranch.adapters.embedded.state import write_document
from anabranch.live.record import VERSION, load_document, unreadable
from anabranch.plan.slices import Offsets

REMEMBERED = 20


@dataclass(frozen=True)
class BatchDone:
    """What one batch came to. One that was found in the table after a restart counts nothing again."""

    batch: int
    records: int
    rows: int
    quarantined: int
    started: float
    ended: float
    event_time: str | None
    """The newest event of the batch."""
    late: int = 0


@dataclass(frozen=True)
class Progress:
    """Since the driver started."""

    offsets: Mapping[str, list[int]] = field(default_factory=dict)
    """[start, end) of the last batch, by partition."""
    event_time: str | None = None
    """The newest event."""
    batches: int = 0
    records: int = 0
    rows: int = 0
    quarantined: int = 0
    recent: tuple[BatchDone, ...] = ()
    group_error: str | None = None
    """Why the consumer group does not show the progress, if it does not. The table does in any case."""
    late: int = 0
    """Events that came after their window was written, and are not in it."""

    @property
    def records_per_second(self) -> float | None:
        """Over the recent batches, waiting between them included."""
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
        )


def save_progress(path: Path, progress: Progress) -> None:
    write_document(path, {"version": VERSION, **asdict(progress)})


def load_progress(path: Path) -> Progress | None:
    found = load_document(path)
    if found is None:
        return None
    try:
        recent = tuple(BatchDone(**each) for each in found.pop("recent"))
        return Progress(**found, recent=recent)
    except (KeyError, TypeError) as error:
        raise unreadable(path) from error


class ProgressKeeper:
    """Tells the consumer group and the disk after each batch. Neither can stop live: the table is what counts."""

    def __init__(
        self, path: Path, commit: Callable[[Mapping[int, int]], str | None], say: Callable[[str], None]
    ) -> None:
        self._path = path
        self._commit = commit
        self._say = say
        self._progress = Progress()

    def commit_group(self, position: Mapping[int, int]) -> None:
        error = self._commit(position)
        self._progress = replace(self._progress, group_error=error)
        if error is not None:
            self._say(f"the consumer group did not take the progress: {error}")

    def report(self, done: BatchDone, offsets: Offsets) -> None:
        self._progress = self._progress.after(done, offsets, self._progress.group_error)
        save_progress(self._path, self._progress)
        seconds = done.ended - done.started
        counts = f"{done.records} records, {done.rows} rows, {done.quarantined} quarantined"
        counts += f", {done.late} late" if done.late else ""
        self._say(f"batch {done.batch}: {counts}, {seconds:.2f} s")
