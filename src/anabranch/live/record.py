"""The driver's record in a file: its process, phase and error."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from enum import Enum
from pathlib import Path
from shlex import quote
from typing import Any

from anabranch.adapters.embedded.state import write_document
from anabranch.adapters.processes import Process
from anabranch.live.errors import CONTINUES, LiveStateUnreadableError

VERSION = 1


class DriverPhase(str, Enum):
    STARTING = "starting"
    RUNNING = "running"
    STOPPED = "stopped"
    FAILED = "failed"


@dataclass(frozen=True)
class DriverRecord:
    process: Process
    phase: DriverPhase
    code: str | None = None
    """Digest of the running transform."""
    query: str | None = None
    error: dict[str, Any] | None = None
    """The error that ended it, as data."""
    silent: dict[str, str] = field(default_factory=dict)
    """Services that do not answer, each with the time since when."""


def save_record(path: Path, record: DriverRecord) -> None:
    write_document(path, {"version": VERSION, **asdict(record)})


def load_record(path: Path) -> DriverRecord | None:
    document = load_document(path)
    if document is None:
        return None
    try:
        process = Process(int(document["process"]["pid"]), float(document["process"]["started"]))
        return DriverRecord(
            process,
            DriverPhase(document["phase"]),
            document["code"],
            document["query"],
            document["error"],
            document["silent"],
        )
    except (KeyError, TypeError, ValueError) as error:
        raise unreadable(path) from error


def load_document(path: Path) -> dict[str, Any] | None:
    """A JSON file of live without its version; None if it does not exist. Raises LiveStateUnreadableError."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise unreadable(path) from error
    if not isinstance(document, dict) or document.pop("version", None) != VERSION:
        raise unreadable(path)
    return document


def unreadable(path: Path) -> LiveStateUnreadableError:
    return LiveStateUnreadableError(
        f"State file {path} is not readable, or was written by another version of Anabranch.",
        state=CONTINUES,
        command=f"rm {quote(str(path))}",
        hint="Remove the file: it only holds status, not data",
        path=str(path),
    )
