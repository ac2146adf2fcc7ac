"""The files and folders that docs/architecture.md names are there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "architecture.md"
NAMED = re.compile(r"`((?:[a-z_]+/)+[a-z_]*(?:\.py)?)`")


def test_every_path_of_the_page_exists() -> None:
    named = set(NAMED.findall(PAGE.read_text(encoding="utf-8")))
    assert len(named) > 30
    missing = {path for path in named if not any((base / path).exists() for base in (ROOT, ROOT / "src" / "anabranch"))}
    assert missing == set()


def test_the_walk_has_at_most_fifteen_files() -> None:
    numbers = re.findall(r"^\| (\d+) \| `", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert [int(number) for number in numbers] == list(range(1, len(numbers) + 1))
    assert len(numbers) <= 15
