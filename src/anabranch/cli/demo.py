"""`anabranch demo`: the story of two backfills, on a real broker, Spark and Iceberg, in a folder of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from anabranch.cli.output import stdout


def demo(
    folder: Annotated[Path, typer.Option("--folder", help="Where to make the demo's project; emptied first.")] = Path(
        "build/demo"
    ),
    events: Annotated[int, typer.Option(min=1000, help="How many orders the shop has sent.")] = 200_000,
    verbose: Annotated[bool, typer.Option("--verbose", help="Tell every slice.")] = False,
) -> None:
    """Tell the story of two backfills, one of them with state: a bug, a replay beside live, a promotion, a proof."""
    from anabranch.demo.story import Story
    from anabranch.demo.words import Teller

    Story(folder.resolve(), Teller(stdout(), chatty=verbose), events)()
