"""The closure record where people find it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from anabranch.project.atomic_write import atomic_write


def read_record(path: Path) -> Mapping[str, object]:
    record: dict[str, object] = json.loads(path.read_text(encoding="utf-8"))
    return record


def write_record(path: Path, record: Mapping[str, object]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    atomic_write(path, json.dumps(record, indent=2, ensure_ascii=False) + "\n")
