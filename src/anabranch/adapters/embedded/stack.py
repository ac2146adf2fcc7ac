"""The embedded Kafka of one project: up, status, down."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import psutil

from anabranch.adapters import processes
from anabranch.adapters.embedded import broker_process, disk, ports, probe, state
from anabranch.adapters.embedded.errors import DATA_UNCHANGED, BrokerCountError, StackDownError, StackRunningError
from anabranch.adapters.embedded.formatting import new_cluster_id
from anabranch.adapters.embedded.layout import Layout
from anabranch.adapters.embedded.lock import exclusive
from anabranch.adapters.embedded.properties import HOST
from anabranch.adapters.embedded.recovery import has_data, recover
from anabranch.adapters.embedded.start import Starter, await_members
from anabranch.adapters.embedded.state import Broker, Stack
from anabranch.adapters.embedded.status import BrokerStatus, StackStatus, broker_state
from anabranch.adapters.jvm.artifacts import ArtifactCache, Progress, locked
from anabranch.adapters.jvm.java import find_java

UP_SECONDS = 120.0
DOWN_SECONDS = 20.0
LOCK_SECONDS = 120.0


class EmbeddedKafka:
    """Brokers of one project, with all their files in its state folder.

    An acknowledged record survives `down`, a crash and SIGKILL of the broker, because it is in the system's page cache.
    It may be lost in a power failure: brokers do not sync each record to the disk.
    """

    def __init__(
        self,
        folder: Path,
        *,
        say: Callable[[str], None] = lambda _words: None,
        clock: Callable[[], float] = time.time,
        cache: ArtifactCache | None = None,
    ) -> None:
        self._layout = Layout(folder.resolve())
        self._say = say
        self._clock = clock
        self._cache = cache or ArtifactCache()

    def up(
        self,
        brokers: int | None = None,
        *,
        new_ports: bool = False,
        progress: Progress | None = None,
        patience: float = UP_SECONDS,
        least_free: int = disk.LEAST_FREE,
    ) -> StackStatus:
        """Start all brokers and wait until each answers. Idempotent.

        `brokers` is fixed by the first call; a later one must pass the same number or None.
        """
        disk.prepare(self._layout)
        with exclusive(self._layout.lock, LOCK_SECONDS, self._say):
            stack = self._decide(brokers, new_ports)
            found = self._find(stack)
            stack = self._adopt(stack, found)
            missing = tuple(b for b in stack.brokers if b.node not in found)
            log_sizes: dict[int, int] = {}
            if missing:
                disk.refuse_full(self._layout.folder, disk.free(self._layout.folder), least_free)
                ports.refuse_taken(b.ports for b in missing)
                java = find_java()
                jars = self._cache.fetch(locked("kafka"), progress)
                starter = Starter(self._layout, java, broker_process.environment(jars), self._say)
                stack, log_sizes = starter.start(stack, tuple(b.node for b in missing))
            else:
                self._say("all brokers are already running")
            await_members(self._layout, stack, log_sizes, patience, self._say)
        return self.status()

    def status(self) -> StackStatus:
        """The state of every broker. Reads only, and needs no write permission."""
        stack = self._load()
        found = {} if stack is None else self._find(stack)
        rows = () if stack is None else tuple(self._status(b, found.get(b.node)) for b in stack.brokers)
        return StackStatus(self._layout.folder, rows)

    def down(self, patience: float = DOWN_SECONDS) -> StackStatus:
        """Stop all brokers. Idempotent. Data and ports are kept for the next `up`."""
        if self._load() is not None:
            with exclusive(self._layout.lock, LOCK_SECONDS, self._say):
                self._stop(patience)
        return self.status()

    def bootstrap(self) -> str:
        """Bootstrap servers for clients. Raises StackDownError if no broker process runs."""
        stack = self._load()
        if stack is None or not self._find(stack):
            raise StackDownError(
                "The project's embedded Kafka is not up.",
                state=DATA_UNCHANGED,
                command="anabranch dev up",
                folder=str(self._layout.folder),
            )
        return ",".join(f"{HOST}:{b.ports.client}" for b in stack.brokers)

    def _load(self) -> Stack | None:
        return state.load(self._layout.state) or recover(self._layout)

    def _find(self, stack: Stack) -> dict[int, psutil.Process]:
        """The running processes of this stack, by node."""
        running = {b.node: broker_process.find(self._layout, b.node, b.process) for b in stack.brokers}
        return {node: living for node, living in running.items() if living is not None}

    def _decide(self, brokers: int | None, new_ports: bool) -> Stack:
        """The stack to start, saved before any process is started."""
        stack = self._load()
        if stack is not None and brokers not in (None, len(stack.brokers)):
            if has_data(self._layout) or self._find(stack):
                raise self._count_refused(len(stack.brokers), brokers)
            stack = None
        if stack is None:
            chosen = ports.choose(brokers or 1)
            new_brokers = tuple(Broker(node, pair) for node, pair in enumerate(chosen, start=1))
            stack = Stack(new_cluster_id(), new_brokers)
        elif new_ports:
            if self._find(stack):
                raise StackRunningError(
                    "Ports cannot be changed while a broker is running.",
                    state=DATA_UNCHANGED,
                    command="anabranch dev down && anabranch dev up --new-ports",
                )
            stack = stack.with_ports(ports.choose(len(stack.brokers)))
        self._save(stack)
        return stack

    def _count_refused(self, has: int, request: int | None) -> BrokerCountError:
        return BrokerCountError(
            f"Broker count mismatch: this project's stack has {has}, requested {request}. The number is fixed when "
            f"the data folders are formatted.",
            state=DATA_UNCHANGED,
            command="anabranch dev up",
            hint=f"Start the stack with {has}. To change the number and DELETE ALL TOPICS: "
            f"`anabranch dev down && rm -r {self._layout.kafka} && anabranch dev up --brokers {request}`",
            brokers=has,
            request=request,
        )

    def _adopt(self, stack: Stack, found: dict[int, psutil.Process]) -> Stack:
        """Record processes that an earlier `up` started but was killed before recording."""
        recorded = {b.node: b.process for b in stack.brokers}
        adopted = stack
        for node, living in found.items():
            now = processes.process_of(living)
            if recorded[node] is None or recorded[node] != now:
                adopted = adopted.with_process(node, now)
        if adopted != stack:
            self._save(adopted)
        return adopted

    def _stop(self, patience: float) -> None:
        stack = self._load()
        if stack is None:
            return
        found = self._find(stack)
        broker_process.stop(list(found.values()), patience)
        stopped = stack
        for broker in stack.brokers:
            stopped = stopped.with_process(broker.node, None)
        if stopped != stack:
            self._save(
                stopped, state_now="All brokers are stopped and their data is kept; only the state file is out of date."
            )

    def _save(self, stack: Stack, state_now: str = DATA_UNCHANGED) -> None:
        try:
            state.save(self._layout.state, stack)
        except OSError as error:
            raise disk.refusal(self._layout.folder, error, state_now) from error

    def _status(self, broker: Broker, living: psutil.Process | None) -> BrokerStatus:
        port = broker.ports.client
        answers = living is not None and broker.node in probe.members(port, probe.STATUS_SECONDS)
        return BrokerStatus(
            node=broker.node,
            state=broker_state(recorded=broker.process is not None, process=living is not None, answers=answers),
            port=port,
            pid=None if living is None else living.pid,
            uptime_seconds=None if living is None else self._clock() - processes.process_of(living).started,
            data_bytes=disk.used(self._layout.data(broker.node)),
            log=self._layout.log(broker.node),
        )
