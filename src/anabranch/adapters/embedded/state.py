"""The recorded state of the stack: brokers, ports and processes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from shlex import quote

from anabranch.adapters.embedded.errors import StackStateUnreadableError
from anabranch.adapters.processes import Process
from anabranch.project.atomic_write import atomic_write

VERSION = 1


@dataclass(frozen=True)
class Ports:
    client: int
    controller: int


@dataclass(frozen=True)
class Broker:
    node: int
    ports: Ports
    process: Process | None = None
    """Set from start until `down`: a recorded process that does not run is a broker that died."""


@dataclass(frozen=True)
class Stack:
    cluster_id: str
    brokers: tuple[Broker, ...]

    def with_process(self, node: int, process: Process | None) -> Stack:
        return replace(self, brokers=tuple(replace(b, process=process) if b.node == node else b for b in self.brokers))

    def with_ports(self, ports: tuple[Ports, ...]) -> Stack:
        moved = zip(self.brokers, ports, strict=True)
        return replace(self, brokers=tuple(replace(broker, ports=pair) for broker, pair in moved))


def load(path: Path) -> Stack | None:
    """The saved stack, or None. Raises StackStateUnreadableError."""
    try:
        return _stack(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise _unreadable(path) from error


def save(path: Path, stack: Stack) -> None:
    write_document(path, {"version": VERSION, **asdict(stack)})


def write_document(path: Path, document: Mapping[str, object]) -> None:
    """Replace the file atomically."""
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
        f"State file {path} is not readable, or was written by another version of Anabranch.",
        state="Brokers and data unchanged.",
        command=f"rm {quote(str(path))} && anabranch dev up",
        hint="Remove the file: brokers are found again by their data folders",
        path=str(path),
    )
