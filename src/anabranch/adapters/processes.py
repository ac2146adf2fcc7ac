"""Supervises detached processes (brokers and live): start, find again by a mark, stop, and read their last log
lines."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

POLL_SECONDS = 0.05
KILL_SECONDS = 10.0
LOG_LINES = 12
SAME_START_SECONDS = 1.0
"""Tolerance for start times: a pid is not reused this fast, and clock corrections are smaller."""


@dataclass(frozen=True)
class Process:
    """A process at its start. The start time distinguishes it from a later process with the same pid."""

    pid: int
    started: float
    """Seconds since 1970, by the system's process table."""


@dataclass(frozen=True)
class Stopped:
    """Which processes did not end on SIGTERM."""

    killed: tuple[psutil.Process, ...]
    """Sent SIGKILL."""
    stuck: tuple[psutil.Process, ...]
    """Still there after SIGKILL."""


def launch(command: Sequence[str], console: Path, folder: Path, env: Mapping[str, str]) -> Process | None:
    """Start a process that outlives this one. None if it had already ended when it was looked up."""
    detach = Path(__file__).with_name("detach.py")
    detached = subprocess.run(
        [sys.executable, "-I", "-S", str(detach), str(console), *command],
        cwd=folder,
        env=dict(env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    pid = int(detached.stdout)
    try:
        return Process(pid, psutil.Process(pid).create_time())
    except psutil.NoSuchProcess:
        return None


def find_marked(mark: str, recorded: Process | None) -> psutil.Process | None:
    """The running process whose first argument is `mark`, or None.

    Checks the recorded process first. If that fails, any process with the mark is taken: its starter was killed before
    it could record the pid.
    """
    if recorded is not None:
        process = find_recorded(recorded)
        if process is not None and is_recorded(recorded, *_identity(process), mark):
            return process
    for process in psutil.process_iter():
        if _is_marked(_identity(process)[1], mark) and alive(process):
            return process
    return None


def find_recorded(recorded: Process) -> psutil.Process | None:
    """The recorded process if it still runs; None if it ended or its pid was reused."""
    try:
        process = psutil.Process(recorded.pid)
        same = _started_together(recorded, process_of(process))
    except psutil.NoSuchProcess:
        return None
    return process if same and alive(process) else None


def is_recorded(recorded: Process, running: Process, arguments: Sequence[str], mark: str) -> bool:
    """Whether a running process is the recorded one. A reused pid started later; a copied project has another mark."""
    return running.pid == recorded.pid and _started_together(recorded, running) and _is_marked(arguments, mark)


def process_of(process: psutil.Process) -> Process:
    return Process(process.pid, process.create_time())


def alive(process: psutil.Process) -> bool:
    """Whether it runs and is not a zombie."""
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def stop(processes: Sequence[psutil.Process], patience: float, kill_patience: float = KILL_SECONDS) -> Stopped:
    """Send SIGTERM to all, wait `patience` seconds, then SIGKILL. Idempotent.

    All get the signal at once, because brokers of a quorum cannot shut down one after the other. Raises
    psutil.AccessDenied for a process of another user.
    """
    _signal(processes, "terminate")
    left = _wait(processes, patience)
    _signal(left, "kill")
    return Stopped(tuple(left), tuple(_wait(left, kill_patience)))


def last_log_lines(*logs: tuple[Path, int]) -> str:
    """The last lines of these logs together, indented; each log is read from its offset (from 0 if it was rotated)."""
    lines = [line for path, start in logs for line in _lines(path, start)][-LOG_LINES:]
    return "\n".join(f"  {line}" for line in lines) or "  (the log is empty)"


def _signal(processes: Sequence[psutil.Process], method: str) -> None:
    for process in processes:
        try:
            getattr(process, method)()
        except psutil.NoSuchProcess:
            continue


def _wait(processes: Sequence[psutil.Process], patience: float) -> list[psutil.Process]:
    deadline = time.monotonic() + patience
    while left := [process for process in processes if alive(process)]:
        if time.monotonic() > deadline:
            break
        time.sleep(POLL_SECONDS)
    return left


def _started_together(one: Process, other: Process) -> bool:
    return abs(one.started - other.started) < SAME_START_SECONDS


def _identity(process: psutil.Process) -> tuple[Process, list[str]]:
    try:
        return process_of(process), process.cmdline()
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        # It has ended, or it belongs to another user: not ours to signal.
        return Process(process.pid, 0.0), []


def _is_marked(arguments: Sequence[str], mark: str) -> bool:
    return len(arguments) > 1 and arguments[1] == mark


def _lines(path: Path, start: int) -> list[str]:
    if not path.is_file():
        return []
    text = path.read_bytes()
    return text[start if start <= len(text) else 0 :].decode(errors="replace").splitlines()
