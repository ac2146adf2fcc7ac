"""`anabranch demo`: two backfills on a real broker, Spark and Iceberg, in a project folder of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from anabranch.cli.output import stdout


def demo(
    folder: Annotated[Path, typer.Option("--folder", help="The demo's project; emptied first.")] = Path("build/demo"),
    events: Annotated[int, typer.Option(min=1000, help="Number of orders in the topic.")] = 200_000,
    verbose: Annotated[bool, typer.Option("--verbose", help="Print every slice.")] = False,
) -> None:
    """Run two backfills from bug to proof. Each replays beside live; one is stateful, one is rolled back."""
    from anabranch.demo.narrator import Narrator
    from anabranch.demo.story import Story

    Story(folder.resolve(), Narrator(stdout(), verbose=verbose), events)()
