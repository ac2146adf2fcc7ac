"""Where the stack keeps its things below the project's state folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Layout:
    folder: Path
    """The state folder, absolute: it is part of how a broker's process is recognised."""

    @property
    def state(self) -> Path:
        return self.folder / "stack.json"

    @property
    def lock(self) -> Path:
        return self.folder / "stack.lock"

    @property
    def kafka(self) -> Path:
        """Configuration and data. Brokers run in it, so that their configuration needs no absolute path:
        Kafka splits `log.dirs` at commas, and Java reads properties files as Latin-1."""
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
        """Written last when a broker's data folder is formatted: there is data if and only if it exists."""
        return self.data(node) / "meta.properties"

    def log(self, node: int) -> Path:
        return self.logs / f"broker-{node}.log"

    def console(self, node: int) -> Path:
        """What the JVM itself printed at its last start; the broker's own words are in `log`."""
        return self.logs / f"broker-{node}.out"
