"""Progress on stderr: a bar on a terminal, plain lines elsewhere, so that stdout stays clean for pipes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from anabranch.cli.output import stderr

if TYPE_CHECKING:
    from rich.console import Console

    from anabranch.adapters.jvm.artifacts import Artifact, Progress


def megabytes(size: int) -> str:
    return f"{size / 10**6:,.1f} MB"


@contextmanager
def downloads(artifacts: Sequence[Artifact], console: Console | None = None) -> Iterator[Progress]:
    """Shows the download of these jars. Prints nothing if none is downloaded."""
    console = console or stderr()
    with (_bar if console.is_terminal else _lines)(console, artifacts) as progress:
        yield progress


@contextmanager
def _bar(console: Console, artifacts: Sequence[Artifact]) -> Iterator[Progress]:
    """One bar over all bytes, with the name of the current file."""
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description:<40.40}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    bar = Bar(*columns, console=console)
    task = bar.add_task("fetching jars", total=sum(a.size for a in artifacts))
    left = len(artifacts)

    @contextmanager
    def progress(name: str, _size: int) -> Iterator[Callable[[int], None]]:
        nonlocal left
        bar.start()
        bar.update(task, description=name)
        yield lambda count: bar.advance(task, count)
        left -= 1
        if left == 0:  # a running bar would overwrite the lines that follow
            bar.stop()

    try:
        yield progress
    finally:
        bar.stop()


@contextmanager
def _lines(console: Console, artifacts: Sequence[Artifact]) -> Iterator[Progress]:
    done = 0

    @contextmanager
    def progress(name: str, size: int) -> Iterator[Callable[[int], None]]:
        nonlocal done
        if done == 0:
            total = megabytes(sum(a.size for a in artifacts))
            console.print(f"fetching {len(artifacts)} jars ({total})")
        done += 1
        console.print(f"  {done}/{len(artifacts)} {name} ({megabytes(size)})")
        yield lambda _count: None

    yield progress
