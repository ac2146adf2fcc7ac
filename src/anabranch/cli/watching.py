"""The progress of a replay: a bar with rate, time left and live's lag on a terminal, a line per slice elsewhere."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

from anabranch.cli.output import stderr

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID

    from anabranch.plan.slices import Slice
    from anabranch.replay.replayer import SliceDone


class Watching:
    """A `Watch` that shows progress on stderr and turns the first Ctrl-C into a pause after the slice at hand."""

    def __init__(self, console: Console, total: int, lag: Callable[[], int | None]) -> None:
        self._console = console
        self._total = total
        self._lag = lag
        self._offsets = 0
        self._seconds = 0.0
        self._bytes = 0
        self._asked = False
        self._bar: tuple[Progress, TaskID] | None = None

    def slice_done(self, piece: Slice, done: SliceDone, seconds: float) -> None:
        self._offsets += piece.width
        self._seconds += seconds
        self._bytes += done.ledger.bytes
        if self._bar is not None:
            bar, task = self._bar
            bar.update(task, completed=self._offsets, description=self._rates())
            return
        share = self._offsets / self._total if self._total else 1.0
        self._console.print(f"slice {piece.id}  {share:>4.0%}  {self._rates()}", markup=False)

    def resting(self, seconds: float, reason: str) -> None:
        if self._bar is not None:
            bar, task = self._bar
            bar.update(task, description=f"{reason}, {seconds:.0f} s")

    def notice(self, words: str) -> None:
        self._console.print(words, markup=False)

    def interrupted(self) -> bool:
        return self._asked

    def _rates(self) -> str:
        seconds = max(self._seconds, 0.001)
        lag = self._lag()
        live = "" if lag is None else f"  live lag {lag:,}"
        return f"{self._offsets / seconds:,.0f} records/s  {self._bytes / seconds / 1e6:.1f} MB/s{live}"

    def _interrupt(self, _signal: int, _frame: FrameType | None) -> None:
        if self._asked:
            raise KeyboardInterrupt
        self._asked = True
        self._console.print("Pausing after the slice at hand; Ctrl-C again abandons that slice.", markup=False)

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Show the bar and listen for Ctrl-C while the work goes on."""
        former = signal.signal(signal.SIGINT, self._interrupt)
        try:
            if not self._console.is_terminal:
                yield
                return
            from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

            columns = (BarColumn(), TaskProgressColumn(), TimeRemainingColumn(), TextColumn("{task.description}"))
            with Progress(*columns, console=self._console) as bar:
                self._bar = (bar, bar.add_task("starting Spark", total=self._total))
                yield
        finally:
            self._bar = None
            signal.signal(signal.SIGINT, former)


def watching(total: int, lag: Callable[[], int | None]) -> Watching:
    return Watching(stderr(), total, lag)
