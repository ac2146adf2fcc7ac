"""What the driver says of itself on the disk: its process, how far it is, why it ended."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

from anabranch.adapters.embedded.state import Process, write_document
from anabranch.live.errors import CONTINUES, LiveStateUnreadableError

VERSION = 1


class Phase(str, Enum):
    STARTING = "starting"
    RUNNING = "running"
    STOPPED = "stopped"
    FAILED = "failed"


@dataclass(frozen=True)
class DriverRecord:
    process: Process
    phase: Phase
    code: str | None = None
    """Digest of the transform that runs."""
    query: str | None = None
    error: dict[str, Any] | None = None
    """Why it ended, as an error's data."""
    silent: dict[str, str] = field(default_factory=dict)
    """The services that do not answer, each with the moment since which."""


def save_record(path: Path, record: DriverRecord) -> None:
    write_document(path, {"version": VERSION, **asdict(record)})


def load_record(path: Path) -> DriverRecord | None:
    found = load_document(path)
    if found is None:
        return None
    try:
        process = Process(int(found["process"]["pid"]), float(found["process"]["started"]))
        return DriverRecord(
            process, Phase(found["phase"]), found["code"], found["query"], found["error"], found["silent"]
        )
    except (KeyError, TypeError, ValueError) as error:
        raise unreadable(path) from error


def load_document(path: Path) -> dict[str, Any] | None:
    """A file of ours as it is, without its version; None if it is not there."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise unreadable(path) from error
    if not isinstance(found, dict) or found.pop("version", None) != VERSION:
        raise unreadable(path)
    return found


def unreadable(path: Path) -> LiveStateUnreadableError:
    return LiveStateUnreadableError(
        f"{path} is not something this version of Anabranch wrote.",
        state=CONTINUES,
        hint=f"remove {path}: it is only for looking at, the table and the checkpoint hold what counts",
        path=str(path),
    )
