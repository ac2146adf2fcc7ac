"""Where the live side of one pipeline keeps its things below the project's state folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class LiveLayout:
    state: Path
    """The state folder, absolute: it is part of how a driver's process is recognised."""
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
        """What the driver says of itself: its process, how far it is, why it ended."""
        return self.folder / "driver.json"

    @property
    def progress(self) -> Path:
        """Written after each batch."""
        return self.folder / "progress.json"

    @property
    def topic(self) -> Path:
        """Which topic the checkpoint's offsets belong to."""
        return self.folder / "topic.json"

    @property
    def log(self) -> Path:
        return self.state / "logs" / f"live-{self.pipeline}.log"

    @property
    def mark(self) -> str:
        """The first argument of the driver's Python: says whose it is to anyone who reads the process list."""
        return f"-Xanabranch.live={self.folder}"
