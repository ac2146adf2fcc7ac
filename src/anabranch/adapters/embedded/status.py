"""The status of the stack, as shown by `dev status`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from anabranch.adapters.embedded.properties import HOST


class BrokerState(str, Enum):
    RUNNING = "running"
    STOPPED = "stopped"
    DIED = "died"
    """Crashed or killed: it was started and not stopped by `dev down`, and its process has ended."""
    UNRESPONSIVE = "unresponsive"
    """The process runs but does not answer as a member of the cluster."""


@dataclass(frozen=True)
class BrokerStatus:
    node: int
    state: BrokerState
    port: int
    pid: int | None
    uptime_seconds: float | None
    data_bytes: int
    log: Path

    @property
    def bootstrap(self) -> str:
        return f"{HOST}:{self.port}"

    def as_dict(self) -> dict[str, object]:
        return {
            "node": self.node,
            "state": self.state.value,
            "pid": self.pid,
            "port": self.port,
            "bootstrap": self.bootstrap,
            "data_bytes": self.data_bytes,
            "uptime_seconds": None if self.uptime_seconds is None else round(self.uptime_seconds, 1),
            "log": str(self.log),
        }


@dataclass(frozen=True)
class StackStatus:
    folder: Path
    brokers: tuple[BrokerStatus, ...]
    """Empty if `dev up` never ran here."""

    @property
    def bootstrap(self) -> str:
        return ",".join(b.bootstrap for b in self.brokers)

    @property
    def all_running(self) -> bool:
        return bool(self.brokers) and all(b.state is BrokerState.RUNNING for b in self.brokers)

    def as_dict(self) -> dict[str, object]:
        return {
            "folder": str(self.folder),
            "up": self.all_running,
            "bootstrap": self.bootstrap or None,
            "brokers": [b.as_dict() for b in self.brokers],
        }


def broker_state(*, recorded: bool, process: bool, answers: bool) -> BrokerState:
    """The state of one broker: whether a start is recorded, its process runs, and it answers."""
    if process:
        return BrokerState.RUNNING if answers else BrokerState.UNRESPONSIVE
    return BrokerState.DIED if recorded else BrokerState.STOPPED
