"""Starts the brokers that are missing, and waits until each answers as a member of the cluster."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from anabranch.adapters.embedded import disk, ports, probe, process, state
from anabranch.adapters.embedded.errors import BrokerDiedError, BrokerStartTimeoutError
from anabranch.adapters.embedded.formatting import format_data
from anabranch.adapters.embedded.layout import Layout
from anabranch.adapters.embedded.properties import HOST, broker_properties, log4j_properties, render
from anabranch.adapters.embedded.state import Broker, Stack
from anabranch.adapters.jvm.java import Java
from anabranch.errors import AnabranchError

LAST_WORDS = 12
POLL_SECONDS = 0.1


@dataclass(frozen=True)
class Starter:
    layout: Layout
    java: Java
    env: Mapping[str, str]
    say: Callable[[str], None]

    def start(self, stack: Stack, nodes: Sequence[int]) -> tuple[Stack, dict[int, int]]:
        """Start these brokers. Returns the stack with their processes, already saved, and where each log begins."""
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
            written = render(broker_properties(stack, broker.node))
            self.layout.config(broker.node).write_text(written, encoding="ascii")

    def _format(self, stack: Stack) -> None:
        fresh = [b.node for b in stack.brokers if not self.layout.identity(b.node).is_file()]
        if fresh:
            self.say(f"formatting {len(fresh)} new data folder{'s' if len(fresh) > 1 else ''} …")
            format_data(self.layout, stack.cluster_id, fresh, self.java, self.env)

    def _launch(self, stack: Stack, node: int, log_size: int) -> Stack:
        broker = next(b for b in stack.brokers if b.node == node)
        self.say(f"starting broker {node} on {HOST}:{broker.ports.client} …")
        command = process.broker_command(self.java, self.layout, node)
        started = process.launch(command, self.layout.console(node), self.layout.kafka, self.env)
        if started is None:
            raise _died(self.layout, broker, log_size)
        stack = stack.with_process(node, started)
        state.save(self.layout.state, stack)
        return stack


def await_members(
    layout: Layout, stack: Stack, log_sizes: Mapping[int, int], patience: float, say: Callable[[str], None]
) -> None:
    """Return once every broker says that every broker is there; an error as soon as one of them dies."""
    deadline = time.monotonic() + patience
    everyone = frozenset(b.node for b in stack.brokers)
    waiting = list(stack.brokers)
    while waiting:
        for broker in stack.brokers:
            if process.find(layout, broker.node, broker.process) is None:
                raise _died(layout, broker, log_sizes.get(broker.node, 0))
        for broker in tuple(waiting):
            if probe.members(broker.ports.client, probe.START_SECONDS) >= everyone:
                waiting.remove(broker)
                say(f"broker {broker.node} is up on {HOST}:{broker.ports.client}")
        if waiting and time.monotonic() > deadline:
            raise _late(layout, waiting, patience)
        time.sleep(POLL_SECONDS if waiting else 0)


def _died(layout: Layout, broker: Broker, log_size: int) -> AnabranchError:
    for port in (broker.ports.client, broker.ports.controller):
        if not ports.is_free(port):
            return ports.taken(port)
    words = [*_lines(layout.console(broker.node), 0), *_lines(layout.log(broker.node), log_size)][-LAST_WORDS:]
    said = "\n".join(f"  {line}" for line in words) or "  (it said nothing)"
    return BrokerDiedError(
        f"Broker {broker.node} died while it was starting. Its last words:\n{said}",
        state="Its data are as they were, and brokers that are up stay up.",
        hint=f"mend what {layout.log(broker.node)} complains of, then `anabranch dev up`",
        node=broker.node,
        log=str(layout.log(broker.node)),
    )


def _late(layout: Layout, waiting: Sequence[Broker], patience: float) -> BrokerStartTimeoutError:
    nodes = ", ".join(str(b.node) for b in waiting)
    return BrokerStartTimeoutError(
        f"After {patience:.0f} s broker {nodes} does not answer yet.",
        state="The processes go on starting, and every topic's data are as they were.",
        hint=f"`anabranch dev status` in a while; if it stays so, read {layout.log(waiting[0].node)}, "
        "then `anabranch dev down` and `anabranch dev up`",
        nodes=[b.node for b in waiting],
    )


def _lines(path: Path, beginning: int) -> list[str]:
    """What was written since `beginning`; all of it if the log was rotated meanwhile."""
    if not path.is_file():
        return []
    text = path.read_bytes()
    return text[beginning if beginning <= len(text) else 0 :].decode(errors="replace").splitlines()


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0
