"""By which code live has written a table, as its commits say. No JVM."""

from __future__ import annotations

from pyiceberg.table import Table

from anabranch.adapters.iceberg import properties as props
from anabranch.adapters.iceberg.commits import MAIN, back, said_by
from anabranch.promote.history import Author


def live_codes(table: Table, pipeline: str) -> tuple[str, ...]:
    """The digests of the transforms, each once, the newest first; as far back as history is kept."""
    codes: dict[str, None] = {}
    for snapshot in back(table, MAIN):
        said = said_by(snapshot)
        if said.get(props.AUTHOR) == Author.LIVE.value and said.get(props.PIPELINE) == pipeline and props.CODE in said:
            codes[said[props.CODE]] = None
    return tuple(codes)
