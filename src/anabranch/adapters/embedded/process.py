"""Broker processes: how one is started, recognised without doubt, and stopped."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import psutil

from anabranch.adapters.embedded.errors import NotOurProcessError, StopFailedError
from anabranch.adapters.embedded.layout import Layout
from anabranch.adapters.embedded.state import Process
from anabranch.adapters.jvm.java import Java

POLL_SECONDS = 0.05
KILL_SECONDS = 10.0
SAME_START_SECONDS = 1.0
"""Two processes with one pid can't start this close; the system's clock may be set by less."""

PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR")
"""A broker needs nothing else, and whatever secret is in our environment is none of its business."""


def mark(layout: Layout, node: int) -> str:
    """The first argument of a broker's JVM: says whose it is to anyone who reads the process list."""
    return f"-Danabranch.broker={layout.folder}#{node}"


def broker_command(java: Java, layout: Layout, node: int) -> list[str]:
    return [
        str(java.executable),
        mark(layout, node),
        f"-Danabranch.log={_from_kafka_folder(layout.log(node))}",
        f"-Dlog4j2.configurationFile={layout.log4j.name}",
        "-Xms128m",
        "-Xmx512m",
        "-XX:+UseSerialGC",
        "-XX:+ExitOnOutOfMemoryError",
        "-XX:-UsePerfData",
        "-Djava.awt.headless=true",
        "kafka.Kafka",
        layout.config(node).name,
    ]


def environment(jars: Sequence[Path], ours: Mapping[str, str] | None = None) -> dict[str, str]:
    """What a JVM of ours sees: the jars, and the few variables any program needs."""
    env = os.environ if ours is None else ours
    return {name: env[name] for name in PASSED_ON if name in env} | {"CLASSPATH": os.pathsep.join(map(str, jars))}


def launch(command: Sequence[str], console: Path, folder: Path, env: Mapping[str, str]) -> Process | None:
    """Start a process that outlives us. None if it was gone again before it could be looked at."""
    detach = Path(__file__).with_name("detach.py")
    said = subprocess.run(
        [sys.executable, "-I", "-S", str(detach), str(console), *command],
        cwd=folder,
        env=dict(env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    try:
        return Process(int(said.stdout), psutil.Process(int(said.stdout)).create_time())
    except psutil.NoSuchProcess:
        return None


def is_ours(recorded: Process, seen: Process, arguments: Sequence[str], broker: str) -> bool:
    """Whether a process is the recorded one. A recycled pid started later; a copied project has another folder."""
    return (
        seen.pid == recorded.pid
        and abs(seen.started - recorded.started) < SAME_START_SECONDS
        and _is_marked(arguments, broker)
    )


def find(layout: Layout, node: int, recorded: Process | None) -> psutil.Process | None:
    """The living process of one broker, or None.

    First where it is recorded to be. Failing that, any process that bears this broker's mark: it was started
    by a command that was killed before it could write down the pid.
    """
    return find_marked(mark(layout, node), recorded)


def find_marked(mark: str, recorded: Process | None) -> psutil.Process | None:
    """The living process whose first argument is this mark, or None. Where it is recorded to be is looked at first."""
    if recorded is not None:
        process = _look(recorded.pid)
        if process is not None and is_ours(recorded, *_identity(process), mark):
            return process
    for process in psutil.process_iter():
        if _is_marked(_identity(process)[1], mark) and alive(process):
            return process
    return None


def seen(process: psutil.Process) -> Process:
    return Process(process.pid, process.create_time())


def alive(process: psutil.Process) -> bool:
    """Running, and not a zombie that its parent has yet to collect."""
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def stop(processes: Sequence[psutil.Process], patience: float) -> None:
    """Ask all to end at once, then make them. At once, because a quorum can't close down one by one."""
    _signal(processes, "terminate")
    left = _wait(processes, patience)
    _signal(left, "kill")
    if stuck := _wait(left, KILL_SECONDS):
        pids = ", ".join(str(p.pid) for p in stuck)
        raise StopFailedError(
            f"Process {pids} does not end, not even when killed: the system is still busy with it.",
            state="Every acknowledged record is in the broker's data folder.",
            hint="look at the disk (`dmesg`), then `anabranch dev down` again",
            pids=[p.pid for p in stuck],
        )


def _signal(processes: Sequence[psutil.Process], verb: str) -> None:
    for process in processes:
        try:
            getattr(process, verb)()
        except psutil.NoSuchProcess:
            continue
        except psutil.AccessDenied as error:
            raise NotOurProcessError(
                f"Broker process {process.pid} was started by another user and can't be stopped by this one.",
                state="It goes on running, and its data are as they were.",
                hint="run `anabranch dev down` as the user who started it",
                pid=process.pid,
            ) from error


def _wait(processes: Sequence[psutil.Process], patience: float) -> list[psutil.Process]:
    deadline = time.monotonic() + patience
    while left := [p for p in processes if alive(p)]:
        if time.monotonic() > deadline:
            break
        time.sleep(POLL_SECONDS)
    return left


def _look(pid: int) -> psutil.Process | None:
    try:
        process = psutil.Process(pid)
    except psutil.NoSuchProcess:
        return None
    return process if alive(process) else None


def _identity(process: psutil.Process) -> tuple[Process, list[str]]:
    try:
        return seen(process), process.cmdline()
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        # Gone meanwhile, or not to be looked into: in both cases not ours to touch.
        return Process(process.pid, 0.0), []


def _is_marked(arguments: Sequence[str], broker: str) -> bool:
    return len(arguments) > 1 and arguments[1] == broker


def _from_kafka_folder(path: Path) -> str:
    return os.path.relpath(path, path.parents[1] / "kafka")
