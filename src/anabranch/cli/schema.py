"""`anabranch schema`: the JSON Schema of the project's files, for editors."""

from __future__ import annotations

import json
from enum import Enum
from typing import Annotated

import typer

from anabranch.cli.output import Format, Output, emit


class FileKind(str, Enum):
    PROJECT = "project"
    PIPELINE = "pipeline"
    BACKFILL = "backfill"
    PRICES = "prices"


def schema(
    kind: Annotated[
        FileKind | None, typer.Argument(help="One kind of file.", show_default="all in one document")
    ] = None,
    output: Output = Format.JSON,
) -> None:
    """Print the JSON Schema of the project's files."""
    from anabranch.contract.schema import schema_of, schema_of_all

    document = schema_of_all() if kind is None else schema_of(kind.value)
    # A schema has no rows for a table, so this format is the same JSON, coloured.
    emit(document, output, lambda console: console.print_json(json.dumps(document)))
