"""Prints the demo: sections with a heading, sentences, and each step with the time it took."""

from __future__ import annotations

import textwrap
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

WIDTH = 96


class Narrator:
    def __init__(self, console: Console, *, verbose: bool = False) -> None:
        self._console = console
        self._verbose = verbose
        self._began = time.monotonic()
        self._page: Path | None = None

    def section(self, title: str, words: str) -> None:
        self._console.print(f"\n{title}", style="bold", markup=False)
        self.say(words)

    def say(self, words: str) -> None:
        for line in textwrap.wrap(words, WIDTH):
            self._console.print(f"  {line}", markup=False)

    def line(self, text: str) -> None:
        """Printed as it is, without wrapping."""
        self._console.print(f"  {text}", markup=False, no_wrap=True, crop=False, overflow="ignore", highlight=False)

    def detail(self, words: str) -> None:
        """Printed with --verbose."""
        if self._verbose:
            self._console.print(f"    {words}", style="dim", markup=False)

    @contextmanager
    def step(self, words: str) -> Iterator[None]:
        """Shows `words` while the work goes on, and a tick with the seconds when it is done."""
        started = time.monotonic()
        if self._console.is_terminal:
            with self._console.status(f"  {words}"):
                yield
        else:
            yield
        self._console.print(f"  ✓ {words}  {time.monotonic() - started:.0f} s", style="green", markup=False)

    def page(self, path: Path) -> None:
        self._page = path

    def end(self, folder: Path) -> None:
        seconds = time.monotonic() - self._began
        self._console.print(f"\nDone in {seconds:.0f} s. Validation page:", style="bold", markup=False)
        self._console.print(f"  {self._page}", markup=False)
        self._console.print("To continue by hand:", style="bold", markup=False)
        for command in (
            f"cd {folder}",
            "anabranch dev up",
            "anabranch live start orders",
            "anabranch list --all",
            "anabranch plan -f contracts/fix-currency.yaml",
            "anabranch dev down",
        ):
            self._console.print(f"  {command}", markup=False)
