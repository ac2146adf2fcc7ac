"""The stack's memory between commands: which brokers, which ports, which processes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from anabranch.adapters.embedded.errors import StackStateUnreadableError
from anabranch.project.atomic_write import atomic_write

VERSION = 1


@dataclass(frozen=True)
class Process:
    """A process as it was when we started it. The start time tells it from a later one with the same pid."""

    pid: int
    started: float
    """Seconds since the epoch, by the system's process table."""


@dataclass(frozen=True)
class Ports:
    client: int
    controller: int


@dataclass(frozen=True)
class Broker:
    node: int
    ports: Ports
    process: Process | None = None
    """Set from the moment it is started until `down`: a record without a living process is a broker that died."""


@dataclass(frozen=True)
class Stack:
    cluster_id: str
    brokers: tuple[Broker, ...]

    def with_process(self, node: int, process: Process | None) -> Stack:
        return replace(self, brokers=tuple(replace(b, process=process) if b.node == node else b for b in self.brokers))

    def with_ports(self, ports: tuple[Ports, ...]) -> Stack:
        moved = zip(self.brokers, ports, strict=True)
        return replace(self, brokers=tuple(replace(broker, ports=chosen) for broker, chosen in moved))


def load(path: Path) -> Stack | None:
    """What was saved, or None if nothing ever was."""
    try:
        return _stack(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise _unreadable(path) from error


def save(path: Path, stack: Stack) -> None:
    write_document(path, {"version": VERSION, **asdict(stack)})


def write_document(path: Path, document: Mapping[str, object]) -> None:
    """Write the whole file or leave the former one: a crash at any point shows one of the two."""
    atomic_write(path, json.dumps(document, indent=2))


def _stack(document: dict[str, object]) -> Stack:
    match document:
        case {"version": int(version), "cluster_id": str(cluster_id), "brokers": [_, *_] as rows} if version == VERSION:
            return Stack(cluster_id, tuple(_broker(row) for row in rows))
        case _:
            raise ValueError(f"not a stack of version {VERSION}")


def _broker(row: object) -> Broker:
    match row:
        case {
            "node": int(node),
            "ports": {"client": int(client), "controller": int(controller)},
            "process": {"pid": int(pid), "started": int() | float() as started},
        }:
            return Broker(node, Ports(client, controller), Process(pid, float(started)))
        case {"node": int(node), "ports": {"client": int(client), "controller": int(controller)}, "process": None}:
            return Broker(node, Ports(client, controller))
        case _:
            raise ValueError(f"not a broker: {row!r}")


def _unreadable(path: Path) -> StackStateUnreadableError:
    return StackStateUnreadableError(
        f"{path} is not something this version of Anabranch wrote.",
        state="Brokers and their data are as they were.",
        hint=f"remove {path} and run `anabranch dev up`: the brokers are found again by their data",
        path=str(path),
    )
