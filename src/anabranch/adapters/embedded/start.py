"""Starts brokers, and waits until each answers as a member of the cluster."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from anabranch.adapters import processes
from anabranch.adapters.embedded import broker_process, disk, ports, probe, state
from anabranch.adapters.embedded.errors import BrokerDiedError, BrokerStartTimeoutError
from anabranch.adapters.embedded.formatting import format_data
from anabranch.adapters.embedded.layout import Layout
from anabranch.adapters.embedded.properties import HOST, broker_properties, log4j_properties, render
from anabranch.adapters.embedded.state import Broker, Stack
from anabranch.adapters.jvm.java import Java
from anabranch.errors import AnabranchError

POLL_SECONDS = 0.1


@dataclass(frozen=True)
class Starter:
    layout: Layout
    java: Java
    env: Mapping[str, str]
    say: Callable[[str], None]

    def start(self, stack: Stack, nodes: Sequence[int]) -> tuple[Stack, dict[int, int]]:
        """Start these brokers. Returns the saved stack with their processes, and the size of each log before the
        start."""
        try:
            self._configure(stack)
            self._format(stack)
            log_sizes = {node: _size(self.layout.log(node)) for node in nodes}
            for node in nodes:
                stack = self._launch(stack, node, log_sizes[node])
        except OSError as error:
            raise disk.refusal(self.layout.folder, error) from error
        return stack, log_sizes

    def _configure(self, stack: Stack) -> None:
        self.layout.log4j.write_text(render(log4j_properties()), encoding="ascii")
        for broker in stack.brokers:
            text = render(broker_properties(stack, broker.node))
            self.layout.config(broker.node).write_text(text, encoding="ascii")

    def _format(self, stack: Stack) -> None:
        unformatted = [b.node for b in stack.brokers if not self.layout.identity(b.node).is_file()]
        if unformatted:
            self.say(f"formatting {len(unformatted)} new data folder{'s' if len(unformatted) > 1 else ''} …")
            format_data(self.layout, stack.cluster_id, unformatted, self.java, self.env)

    def _launch(self, stack: Stack, node: int, log_size: int) -> Stack:
        broker = next(b for b in stack.brokers if b.node == node)
        self.say(f"starting broker {node} on {HOST}:{broker.ports.client} …")
        command = broker_process.broker_command(self.java, self.layout, node)
        started = processes.launch(command, self.layout.console(node), self.layout.kafka, self.env)
        if started is None:
            raise _died(self.layout, broker, log_size)
        stack = stack.with_process(node, started)
        state.save(self.layout.state, stack)
        return stack


def await_members(
    layout: Layout, stack: Stack, log_sizes: Mapping[int, int], patience: float, say: Callable[[str], None]
) -> None:
    """Wait until every broker sees all others. Raises BrokerDiedError or BrokerStartTimeoutError."""
    deadline = time.monotonic() + patience
    all_nodes = frozenset(b.node for b in stack.brokers)
    waiting = list(stack.brokers)
    while waiting:
        for broker in stack.brokers:
            if broker_process.find(layout, broker.node, broker.process) is None:
                raise _died(layout, broker, log_sizes.get(broker.node, 0))
        for broker in tuple(waiting):
            if probe.members(broker.ports.client, probe.START_SECONDS) >= all_nodes:
                waiting.remove(broker)
                say(f"broker {broker.node} is up on {HOST}:{broker.ports.client}")
        if waiting and time.monotonic() > deadline:
            raise _late(layout, waiting, patience)
        time.sleep(POLL_SECONDS if waiting else 0)


def _died(layout: Layout, broker: Broker, log_size: int) -> AnabranchError:
    for port in (broker.ports.client, broker.ports.controller):
        if not ports.is_free(port):
            return ports.taken(port)
    log = layout.log(broker.node)
    lines = processes.last_log_lines((layout.console(broker.node), 0), (log, log_size))
    return BrokerDiedError(
        f"Broker {broker.node} exited during startup. Last log lines:\n{lines}",
        state="Topic data unchanged. Other brokers keep running.",
        command="anabranch dev up",
        hint=f"Fix the error that {log} reports, then start the broker again",
        node=broker.node,
        log=str(log),
    )


def _late(layout: Layout, waiting: Sequence[Broker], patience: float) -> BrokerStartTimeoutError:
    nodes = ", ".join(str(b.node) for b in waiting)
    return BrokerStartTimeoutError(
        f"Broker {nodes} did not answer within {patience:.0f} s.",
        state="The processes are still starting. Topic data unchanged.",
        command="anabranch dev status",
        hint=f"If the state does not change, read {layout.log(waiting[0].node)}, then run "
        "`anabranch dev down && anabranch dev up`",
        nodes=[b.node for b in waiting],
    )


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0
