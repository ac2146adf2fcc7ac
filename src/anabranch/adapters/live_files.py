"""What the driver of our own live writes to files on this machine: its process, its errors, its last batches."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anabranch.adapters import processes
from anabranch.adapters.processes import Process
from anabranch.errors import AnabranchError
from anabranch.replay.live_sources import BatchTiming, LiveDriver


class LiveFilesUnreadableError(AnabranchError):
    code = "live.files-unreadable"


@dataclass(frozen=True)
class LiveFiles:
    state: Path
    pipeline: str

    @property
    def record(self) -> Path:
        return self.state.resolve() / "live" / self.pipeline / "driver.json"

    @property
    def progress(self) -> Path:
        return self.state.resolve() / "live" / self.pipeline / "progress.json"

    def driver(self) -> LiveDriver | None:
        """None: no driver ran on this machine. Raises LiveFilesUnreadableError."""
        record, progress = _document(self.record), _document(self.progress)
        if record is None:
            return None
        try:
            process = Process(int(record["process"]["pid"]), float(record["process"]["started"]))
            runs = processes.find_recorded(process) is not None
            interval = None if progress is None else progress.get("interval")
            recent = [] if progress is None else progress["recent"]
            batches = tuple(_batch(each, interval) for each in recent)
            return LiveDriver(runs, str(record["phase"]), batches, tuple(sorted(record["silent"])))
        except (KeyError, TypeError, ValueError) as error:
            raise _unreadable(self.record.parent) from error


def _batch(batch: dict[str, Any], interval: float | None) -> BatchTiming:
    seconds = float(batch["ended"]) - float(batch["started"])
    return BatchTiming(int(batch["batch"]), seconds, seconds / interval if interval else None)


def _document(path: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise _unreadable(path) from error
    if not isinstance(found, dict):
        raise _unreadable(path)
    return found


def _unreadable(path: Path) -> LiveFilesUnreadableError:
    return LiveFilesUnreadableError(
        f"State of live in {path} is not readable.",
        state="Nothing was changed. Live continues.",
        hint="The files hold only status; live writes them again at its next batch",
        path=str(path),
    )
