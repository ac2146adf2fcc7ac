"""The progress of a run on stderr: a bar on a terminal, a line every ten seconds elsewhere."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from threading import Lock
from types import FrameType
from typing import TYPE_CHECKING

from anabranch.cli.output import stderr
from anabranch.cli.replay_progress import ReplayProgress, line, share

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID

    from anabranch.plan.slices import Slice
    from anabranch.replay.replayer import SliceDone, SliceProgress

LINE_SECONDS, BAR_SECONDS = 10.0, 1.0


class RunProgress:
    """An observer that shows progress on stderr and turns the first Ctrl-C into a pause after the current slice."""

    def __init__(
        self,
        console: Console,
        total: int,
        lag: Callable[[], int | None],
        clock: Callable[[], float] = time.monotonic,
        pace: Callable[[], str | None] = lambda: None,
    ) -> None:
        self._console = console
        self._total = total
        self._lag = lag
        self._pace = pace
        self._clock = clock
        self._progress = ReplayProgress("", clock())
        self._lock = Lock()
        self._bytes = self._bytes_before = self._committed_bytes = 0
        self._interrupted = False
        self._bar: tuple[Progress, TaskID] | None = None

    def phase(self, words: str) -> None:
        with self._lock:
            self._progress = replace(self._progress, phase=words, phase_since=self._clock(), slice_=None, inside=None)
        if self._bar is None:
            self._console.print(words, markup=False)
        self.show()

    def remaining(self, slices: Sequence[Slice]) -> None:
        left, now = sum(each.width for each in slices), self._clock()
        before = max(0, self._total - left)
        with self._lock:
            self._bytes_before, self._committed_bytes = self._bytes, 0
            self._progress = replace(
                self._progress,
                phase="replaying",
                phase_since=now,
                total=before + left,
                committed=before,
                before=before,
                bytes=0,
                paused=0.0,
                replaying_since=now,
            )
        self.show()

    def slice_progress(self, slice_: Slice, progress: SliceProgress) -> None:
        with self._lock:
            self._bytes = progress.bytes
            read = self._bytes - self._bytes_before
            self._progress = replace(self._progress, slice_=slice_, inside=progress, bytes=read)

    def slice_done(self, slice_: Slice, done: SliceDone, seconds: float) -> None:
        lag = self._lag()
        with self._lock:
            former = self._progress
            self._committed_bytes += done.ledger.bytes
            self._progress = replace(
                former,
                phase="replaying",
                phase_since=self._clock(),
                committed=former.committed + slice_.width,
                slice_=None,
                inside=None,
                bytes=max(former.bytes, self._committed_bytes),
                lag=lag,
            )
        if self._bar is None:
            self._console.print(f"slice {slice_.id} committed in {seconds:.1f} s  {self.text()}", markup=False)
        self.show()

    def resting(self, seconds: float, reason: str) -> None:
        with self._lock:
            former = self._progress
            since = former.phase_since if former.phase == reason else self._clock()
            self._progress = replace(
                former, phase=reason, phase_since=since, slice_=None, inside=None, paused=former.paused + seconds
            )
        self.show()

    def notice(self, words: str) -> None:
        self._console.print(words, markup=False)

    def interrupted(self) -> bool:
        return self._interrupted

    def text(self) -> str:
        """The current line, without a terminal."""
        return "  ".join(part for part in (share(self._progress), line(self._progress, self._clock())) if part)

    def show(self) -> None:
        """Update the bar. Without a terminal, lines are printed at intervals."""
        if self._bar is not None:
            (bar, task), progress = self._bar, self._progress
            words = line(progress, self._clock())
            bar.update(task, completed=progress.done, total=progress.total, description=words)

    def _print(self) -> None:
        pace = self._pace()
        with self._lock:
            self._progress = replace(self._progress, pace=pace)
        if self._bar is not None:
            self.show()
        elif self._progress.phase:
            self._console.print(self.text(), markup=False)

    def _interrupt(self, _signal: int, _frame: FrameType | None) -> None:
        if self._interrupted:
            raise KeyboardInterrupt
        self._interrupted = True
        self._console.print(
            "Stopping after the current slice, or now if the run waits. Ctrl-C again discards that slice.", markup=False
        )

    @contextmanager
    def shown(self, *, pausable: bool = True) -> Iterator[None]:
        """Show progress during the block; `pausable`: turn the first Ctrl-C into a pause."""
        from anabranch.replay.polling import polled

        former = signal.signal(signal.SIGINT, self._interrupt) if pausable else None
        try:
            if not self._console.is_terminal:
                with polled(self._print, LINE_SECONDS):
                    yield
                return
            from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn
            from rich.table import Column

            words = TextColumn("{task.description}", table_column=Column(no_wrap=True, overflow="ellipsis", ratio=1))
            columns = (BarColumn(bar_width=20), TaskProgressColumn(), words)
            with Progress(*columns, console=self._console, expand=True) as bar:
                self._bar = (bar, bar.add_task("", total=None))
                self.show()
                with polled(self._print, BAR_SECONDS):
                    yield
        finally:
            self._bar = None
            if former is not None:
                signal.signal(signal.SIGINT, former)


def run_progress(
    total: int, lag: Callable[[], int | None], pace: Callable[[], str | None] = lambda: None
) -> RunProgress:
    return RunProgress(stderr(), total, lag, pace=pace)


@contextmanager
def phases() -> Iterator[Callable[[str], None]]:
    """Shows the phases of work that has no slices; Ctrl-C ends it."""
    watch = run_progress(0, lambda: None)
    with watch.shown(pausable=False):
        yield watch.phase
