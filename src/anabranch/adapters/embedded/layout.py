"""Paths of the embedded stack in the project's state folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Layout:
    folder: Path
    """The state folder, absolute: it is part of the mark by which a broker's process is found."""

    @property
    def state(self) -> Path:
        return self.folder / "stack.json"

    @property
    def lock(self) -> Path:
        return self.folder / "stack.lock"

    @property
    def kafka(self) -> Path:
        """Configuration and data; the working directory of brokers. Their configuration has relative paths only,
        because Kafka splits `log.dirs` at commas and Java reads properties files as Latin-1."""
        return self.folder / "kafka"

    @property
    def logs(self) -> Path:
        return self.folder / "logs"

    @property
    def log4j(self) -> Path:
        return self.kafka / "log4j2.properties"

    def config(self, node: int) -> Path:
        return self.kafka / f"broker-{node}.properties"

    def data(self, node: int) -> Path:
        return self.kafka / f"broker-{node}"

    def identity(self, node: int) -> Path:
        """Written last by formatting: the data folder is formatted if and only if this file exists."""
        return self.data(node) / "meta.properties"

    def log(self, node: int) -> Path:
        return self.logs / f"broker-{node}.log"

    def console(self, node: int) -> Path:
        """Output of the JVM at its last start; the broker writes to `log`."""
        return self.logs / f"broker-{node}.out"
