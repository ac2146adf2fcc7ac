"""Chooses free ports on loopback, and finds the process that holds one."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterable
from contextlib import ExitStack

import psutil

from anabranch.adapters.embedded.errors import PortTakenError
from anabranch.adapters.embedded.properties import HOST
from anabranch.adapters.embedded.state import Ports

POLL_SECONDS = 0.05
RELEASE_SECONDS = 3.0
"""A killed JVM may leave the process list before its last thread has released its ports."""


def choose(brokers: int) -> tuple[Ports, ...]:
    """Two free ports per broker, chosen by the system. All stay bound until the last is chosen, so that none
    repeats."""
    with ExitStack() as held:
        numbers = []
        for _ in range(2 * brokers):
            listener = held.enter_context(socket.socket())
            listener.bind((HOST, 0))
            numbers.append(int(listener.getsockname()[1]))
    return tuple(Ports(client, controller) for client, controller in zip(numbers[::2], numbers[1::2], strict=True))


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        # As the broker does: connections of its predecessor in TIME_WAIT do not prevent binding.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
        return True


def refuse_taken(ports: Iterable[Ports]) -> None:
    """Raise PortTakenError if another process holds a recorded port."""
    for port in (number for pair in ports for number in (pair.client, pair.controller)):
        deadline = time.monotonic() + RELEASE_SECONDS
        while not is_free(port):
            if holder(port) or time.monotonic() > deadline:
                raise taken(port)
            time.sleep(POLL_SECONDS)


def taken(port: int) -> PortTakenError:
    port_holder = holder(port)
    return PortTakenError(
        f"Port {port} on {HOST} belongs to this project's broker, but {port_holder or 'another process'} holds it.",
        state="Topic data unchanged.",
        command="anabranch dev up --new-ports",
        hint="Stop that process, or move the broker to new ports",
        port=port,
        holder=port_holder,
    )


def holder(port: int) -> str | None:
    """The process on that port as text; None if unknown (sockets of other users may be hidden)."""
    try:
        connections = psutil.net_connections(kind="tcp")
    except psutil.AccessDenied:
        return None
    pids = {c.pid for c in connections if c.laddr and c.laddr.port == port and c.pid}
    for pid in sorted(pids):
        try:
            return f"process {pid} ({psutil.Process(pid).name()})"
        except psutil.NoSuchProcess:
            continue
    return None
