"""The name of a lease holder: a process, named so that another one on the same machine can tell whether it runs."""

from __future__ import annotations

import hashlib
import os
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from enum import Enum
from pathlib import Path

import psutil

from anabranch.errors import NOTHING_CHANGED, AnabranchError, ExitCode
from anabranch.runs.run_lease import LEASE_DURATION, RunLease, RunStore, acquire_run_lease

LEASE_VARIABLE = "ANABRANCH_LEASE_SECONDS"

_NAME = re.compile(r".+@.+:(?P<pid>\d+) \(since (?P<since>\d+) on (?P<machine>[0-9a-f]+)\)")


class LeaseTimeError(AnabranchError):
    code = "lease.bad-time"
    exit_code = ExitCode.USAGE


def holder_name(person: str) -> str:
    """The name of this process. Its start time distinguishes it from a later process with the same pid."""
    pid = os.getpid()
    return f"{person}@{socket.gethostname()}:{pid} (since {_started(psutil.Process(pid))} on {_machine()})"


class Whereabouts(str, Enum):
    """Of a holder's process."""

    RUNNING = "running"
    """On this machine. A stopped process has not ended: its lease has to expire."""
    ENDED = "ended"
    ELSEWHERE = "elsewhere"
    """On another machine, or before this one was started: whether it runs is unknown."""


def whereabouts(holder: str) -> Whereabouts:
    named = _NAME.fullmatch(holder)
    if named is None or named["machine"] != _machine():
        return Whereabouts.ELSEWHERE
    try:
        process = psutil.Process(int(named["pid"]))
        ended = process.status() == psutil.STATUS_ZOMBIE or _started(process) != int(named["since"])
    except (psutil.NoSuchProcess, FileNotFoundError, ProcessLookupError):
        return Whereabouts.ENDED
    return Whereabouts.ENDED if ended else Whereabouts.RUNNING


def is_gone(holder: str) -> bool:
    """Whether the holder was a process of this machine and has ended. False for a process of another machine."""
    return whereabouts(holder) is Whereabouts.ENDED


@contextmanager
def take_run_lease(store: RunStore, run_id: str, holder: str, actor: str) -> Iterator[RunLease]:
    """The run's lease. One whose process has ended is not waited for: its epoch is refused from then on."""
    former = store.reader.lease(run_id).holder
    gone = former is not None and is_gone(former)
    with acquire_run_lease(store, run_id, holder=holder, actor=actor, ttl=lease_time(), take_over=gone) as lease:
        yield lease


def lease_time() -> timedelta:
    """How long a lease lasts without renewal."""
    seconds = os.environ.get(LEASE_VARIABLE)
    if seconds is None:
        return LEASE_DURATION
    if not re.fullmatch(r"\d+(\.\d+)?", seconds) or float(seconds) == 0:
        raise LeaseTimeError(
            f"{LEASE_VARIABLE}={seconds} is not a positive number of seconds.",
            state=NOTHING_CHANGED,
            command=f"unset {LEASE_VARIABLE}",
            hint=f"The default is {LEASE_DURATION.total_seconds():.0f} seconds",
        )
    return timedelta(seconds=float(seconds))


def _started(process: psutil.Process) -> int:
    """In clock ticks since boot, which setting the time of day does not change."""
    if not Path("/proc/self/stat").exists():
        return int(process.create_time() * 1000)
    return int(Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[19])


def _machine() -> str:
    """Identifies the boot and the pid namespace, because host names are not unique."""
    boot, namespace = Path("/proc/sys/kernel/random/boot_id"), Path("/proc/self/ns/pid")
    parts = [socket.gethostname()]
    if boot.exists() and namespace.exists():
        parts += [boot.read_text().strip(), str(namespace.stat().st_ino)]
    return hashlib.sha256("/".join(parts).encode()).hexdigest()[:12]
