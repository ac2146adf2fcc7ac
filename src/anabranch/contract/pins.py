"""What a plan pins beside the transform: the fields of the pipeline, and digests of the check files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from pydantic import BaseModel

from anabranch.contract.backfill import Backfill
from anabranch.contract.pipeline import Pipeline
from anabranch.project.model import as_plain

NOT_PINNED = {
    "owner": "only displayed; no row and no verdict depends on it",
    "state.every": "how often live stores a state; the plan pins the state that the replay starts from",
    "state.keep": "how long live stores a state; the plan pins the state that the replay starts from",
}
"""Fields of a pipeline that affect neither rows nor a verdict, and why. Every other field is pinned."""


def declared(pipeline: Pipeline) -> dict[str, str]:
    """Each field of the spec by its path in the file (`target.keys`), as JSON text in the order of the file."""
    return {path: text for path, text in _fields(pipeline.spec, "") if path not in NOT_PINNED}


def _fields(part: BaseModel, above: str) -> Iterator[tuple[str, str]]:
    plain = as_plain(part)
    for name, field in type(part).model_fields.items():
        key, value = field.alias or name, getattr(part, name)
        if isinstance(value, BaseModel):
            yield from _fields(value, f"{above}{key}.")
        elif key in plain:
            yield f"{above}{key}", json.dumps(plain[key], ensure_ascii=False)


def pin_files(folder: Path, backfill: Backfill) -> dict[str, str]:
    """Digests of the files that validation reads, SQL checks and known records, by their path in the project.

    Raises OSError if a file can't be read, since it could not be pinned.
    """
    validation = backfill.spec.validation
    named = {*(query.file for query in validation.queries.values()), validation.known_records}
    return {file: _digest(folder / file) for file in sorted(file for file in named if file is not None)}


def digest_files(folder: Path, files: Iterable[str]) -> dict[str, str]:
    """Current digests of these files. A file that can't be read is omitted."""
    digests = {}
    for file in files:
        try:
            digests[file] = _digest(folder / file)
        except OSError:
            continue
    return digests


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()
