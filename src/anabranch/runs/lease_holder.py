"""Who holds a lease: a process, named so that another one on the same machine can tell whether it still lives."""

from __future__ import annotations

import hashlib
import os
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
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
    """This process. Its start tells it from a later one with the same pid."""
    pid = os.getpid()
    return f"{person}@{socket.gethostname()}:{pid} (since {_started(psutil.Process(pid))} on {_machine()})"


def is_gone(holder: str) -> bool:
    """Whether the holder was a process of this machine that has ended. Of another machine's, nobody here can know.

    A process that is only stopped is not gone: its lease has to expire.
    """
    named = _NAME.fullmatch(holder)
    if named is None or named["machine"] != _machine():
        return False
    try:
        process = psutil.Process(int(named["pid"]))
        return process.status() == psutil.STATUS_ZOMBIE or _started(process) != int(named["since"])
    except (psutil.NoSuchProcess, FileNotFoundError, ProcessLookupError):
        return True


@contextmanager
def take_run_lease(store: RunStore, run_id: str, holder: str, actor: str) -> Iterator[RunLease]:
    """The run's lease. One whose process has ended is not waited for: its epoch is refused from then on."""
    former = store.reader.lease(run_id).holder
    gone = former is not None and is_gone(former)
    with acquire_run_lease(store, run_id, holder=holder, actor=actor, ttl=lease_time(), take_over=gone) as lease:
        yield lease


def lease_time() -> timedelta:
    """How long a lease lasts when nobody renews it."""
    said = os.environ.get(LEASE_VARIABLE)
    if said is None:
        return LEASE_DURATION
    if not re.fullmatch(r"\d+(\.\d+)?", said) or float(said) == 0:
        raise LeaseTimeError(
            f"{LEASE_VARIABLE}={said} is not a number of seconds.",
            state=NOTHING_CHANGED,
            hint=f"unset {LEASE_VARIABLE}: the default is {LEASE_DURATION.total_seconds():.0f} seconds",
        )
    return timedelta(seconds=float(said))


def _started(process: psutil.Process) -> int:
    """In clock ticks since the machine was started: unlike the time of day, nobody sets that clock."""
    if not Path("/proc/self/stat").exists():
        return int(process.create_time() * 1000)
    return int(Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[19])


def _machine() -> str:
    """This boot of this machine, and within it the set of processes we can see: host names are not unique."""
    boot, seen = Path("/proc/sys/kernel/random/boot_id"), Path("/proc/self/ns/pid")
    parts = [socket.gethostname()]
    if boot.exists() and seen.exists():
        parts += [boot.read_text().strip(), str(seen.stat().st_ino)]
    return hashlib.sha256("/".join(parts).encode()).hexdigest()[:12]
