"""Paths of one pipeline's live in the project's state folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class LiveLayout:
    state: Path
    """The state folder, absolute: it is part of the mark by which a driver's process is found."""
    pipeline: str

    @property
    def folder(self) -> Path:
        return self.state / "live" / self.pipeline

    @property
    def checkpoint(self) -> Path:
        return self.folder / "checkpoint"

    @property
    def lock(self) -> Path:
        return self.folder / "lock"

    @property
    def record(self) -> Path:
        """The driver's process, phase and error."""
        return self.folder / "driver.json"

    @property
    def progress(self) -> Path:
        """Written after each batch."""
        return self.folder / "progress.json"

    @property
    def topic(self) -> Path:
        """The topic to which the checkpoint's offsets belong."""
        return self.folder / "topic.json"

    @property
    def log(self) -> Path:
        return self.state / "logs" / f"live-{self.pipeline}.log"

    @property
    def mark(self) -> str:
        """The first argument of the driver's Python, by which it is found in the process list."""
        return f"-Xanabranch.live={self.folder}"
