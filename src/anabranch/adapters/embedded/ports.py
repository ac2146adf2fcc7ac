"""Free ports on loopback, and who holds one that is not free."""

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
DYING_SECONDS = 3.0
"""A killed JVM is gone from the process list before its last thread has let go of its ports. Nobody holds them then."""


def choose(brokers: int) -> tuple[Ports, ...]:
    """Two ports for each broker, chosen by the system. All are held until the last is chosen, so that none repeats."""
    with ExitStack() as held:
        numbers = []
        for _ in range(2 * brokers):
            listener = held.enter_context(socket.socket())
            listener.bind((HOST, 0))
            numbers.append(int(listener.getsockname()[1]))
    return tuple(Ports(client, controller) for client, controller in zip(numbers[::2], numbers[1::2], strict=True))


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        # As the broker does it: a connection of the former broker that is still winding down is no obstacle.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
        return True


def refuse_taken(ports: Iterable[Ports]) -> None:
    """Stop before anything is started if another process sits on a port that was remembered."""
    for port in (number for pair in ports for number in (pair.client, pair.controller)):
        deadline = time.monotonic() + DYING_SECONDS
        while not is_free(port):
            if holder(port) or time.monotonic() > deadline:
                raise taken(port)
            time.sleep(POLL_SECONDS)


def taken(port: int) -> PortTakenError:
    who = holder(port)
    return PortTakenError(
        f"Port {port} on {HOST} belongs to this project's broker, but {who or 'another process'} holds it.",
        state="Every topic's data are as they were.",
        hint="stop that process, or let the broker move: `anabranch dev up --new-ports`",
        port=port,
        holder=who,
    )


def holder(port: int) -> str | None:
    """The process on that port in words, if the system lets us know: other users' sockets may be hidden."""
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
