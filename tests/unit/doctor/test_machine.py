"""What is said of Python, memory, disk and jars at each side of each limit."""

from __future__ import annotations

from pathlib import Path

import pytest

from anabranch.doctor.artifacts import artifacts
from anabranch.doctor.finding import Level
from anabranch.doctor.machine import (
    DISK_COMFORTABLE,
    DISK_LEAST,
    MEMORY_COMFORTABLE,
    MEMORY_LEAST,
    disk,
    memory,
    python,
)

GREEN, YELLOW, RED = Level.GREEN, Level.YELLOW, Level.RED


@pytest.mark.parametrize(
    ("version", "level"), [((3, 9), RED), ((3, 10), GREEN), ((3, 12), GREEN), ((3, 13), RED), ((4, 0), RED)]
)
def test_python(version: tuple[int, int], level: Level) -> None:
    assert python(version).level is level


@pytest.mark.parametrize(
    ("free", "level"),
    [
        (MEMORY_LEAST - 1, RED),
        (MEMORY_LEAST, YELLOW),
        (MEMORY_COMFORTABLE - 1, YELLOW),
        (MEMORY_COMFORTABLE, GREEN),
    ],
)
def test_memory(free: int, level: Level) -> None:
    assert memory(free).level is level
    assert bool(memory(free).remedy) == (level is not GREEN)


@pytest.mark.parametrize(
    ("free", "level"),
    [(DISK_LEAST - 1, RED), (DISK_LEAST, YELLOW), (DISK_COMFORTABLE - 1, YELLOW), (DISK_COMFORTABLE, GREEN)],
)
def test_disk(free: int, level: Level, tmp_path: Path) -> None:
    assert disk(tmp_path, free).level is level
    assert bool(disk(tmp_path, free).remedy) == (level is not GREEN)


def test_jars_that_are_not_here_are_yellow_and_wrong_ones_red(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from anabranch.adapters.jvm.artifacts import ArtifactCache, locked

    monkeypatch.setenv("ANABRANCH_CACHE", str(tmp_path))
    assert (artifacts().level, artifacts().remedy) == (YELLOW, "anabranch dev fetch")

    path = ArtifactCache().path(locked("spark")[0])
    path.parent.mkdir(parents=True)
    path.write_bytes(b"something else")
    found = artifacts()
    assert found.level is RED
    assert path.name in found.says
    assert str(path) in found.remedy
