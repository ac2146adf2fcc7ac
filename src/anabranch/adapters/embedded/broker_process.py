"""Broker processes: command line, environment, and how one is found and stopped."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import psutil

from anabranch.adapters import processes
from anabranch.adapters.embedded.errors import NotOurProcessError, StopFailedError
from anabranch.adapters.embedded.layout import Layout
from anabranch.adapters.jvm.java import Java
from anabranch.adapters.processes import Process

PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR")
"""All that a broker needs of our environment, which may hold secrets."""


def mark(layout: Layout, node: int) -> str:
    """The first argument of a broker's JVM, by which it is found in the process list."""
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
    """The environment of a broker's JVM: the class path, and the variables that any program needs."""
    env = os.environ if ours is None else ours
    return {name: env[name] for name in PASSED_ON if name in env} | {"CLASSPATH": os.pathsep.join(map(str, jars))}


def find(layout: Layout, node: int, recorded: Process | None) -> psutil.Process | None:
    """The running process of one broker, or None."""
    return processes.find_marked(mark(layout, node), recorded)


def stop(brokers: Sequence[psutil.Process], patience: float) -> None:
    """Stop these brokers. Raises StopFailedError or NotOurProcessError."""
    try:
        stopped = processes.stop(brokers, patience)
    except psutil.AccessDenied as error:
        raise NotOurProcessError(
            f"Broker process {error.pid} belongs to another user and cannot be stopped by this one.",
            state="The broker is still running. Its data is unchanged.",
            hint="Run `anabranch dev down` as the user who started it",
            pid=error.pid,
        ) from error
    if stopped.stuck:
        pids = ", ".join(str(process.pid) for process in stopped.stuck)
        raise StopFailedError(
            f"Broker process {pids} did not end within {processes.KILL_SECONDS:.0f} s after SIGKILL.",
            state="Every acknowledged record is in the broker's data folder.",
            command="anabranch dev down",
            hint="Check the disk (`dmesg`), then stop the broker again",
            pids=[process.pid for process in stopped.stuck],
        )


def _from_kafka_folder(path: Path) -> str:
    return os.path.relpath(path, path.parents[1] / "kafka")
