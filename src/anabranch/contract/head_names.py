"""A version of a table as people write it in a contract. Only the table's adapter knows what it means."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import BeforeValidator, WithJsonSchema

from anabranch.project.refusals import refuse
from anabranch.runs.heads import Head

_SNAPSHOT_ID = "^[1-9][0-9]{0,18}$"
"""Iceberg's, the only target so far: a number in YAML. A target with other names for its versions widens this."""


def _as_text(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, int | str) or not re.fullmatch(_SNAPSHOT_ID, str(value)):
        raise refuse("this must be a whole number", "the id of a snapshot of the table: 8345213987412")
    return str(value)


HeadName = Annotated[
    Head,
    BeforeValidator(_as_text),
    WithJsonSchema({"type": ["integer", "string"], "pattern": _SNAPSHOT_ID, "minimum": 1}),
]
