"""The embedded Kafka of one project: up, status and down."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import psutil

from anabranch.adapters.embedded import disk, ports, probe, process, state
from anabranch.adapters.embedded.errors import DATA_KEPT, BrokerCountError, StackDownError, StackRunningError
from anabranch.adapters.embedded.formatting import new_cluster_id
from anabranch.adapters.embedded.layout import Layout
from anabranch.adapters.embedded.lock import exclusive
from anabranch.adapters.embedded.properties import HOST
from anabranch.adapters.embedded.recovery import has_data, recover
from anabranch.adapters.embedded.start import Starter, await_members
from anabranch.adapters.embedded.state import Broker, Stack
from anabranch.adapters.embedded.status import BrokerStatus, StackStatus, judge
from anabranch.adapters.jvm.artifacts import ArtifactCache, Progress, locked
from anabranch.adapters.jvm.java import find_java

UP_SECONDS = 120.0
DOWN_SECONDS = 20.0
LOCK_SECONDS = 120.0


class EmbeddedKafka:
    """Brokers that belong to a project and keep all they have below its state folder.

    An acknowledged record survives `down`, a crash and kill -9 of the broker: it is in the system's page cache
    by then, which outlives the process. It need not survive a power cut of the machine; brokers don't sync per record.
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
        """Bring every broker up and wait until each answers; no change if they already do.

        `brokers` counts only for the first time: later it must be what it was (None: as before, or one).
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
                starter = Starter(self._layout, java, process.environment(jars), self._say)
                stack, log_sizes = starter.start(stack, tuple(b.node for b in missing))
            else:
                self._say("every broker is running already")
            await_members(self._layout, stack, log_sizes, patience, self._say)
        return self.status()

    def status(self) -> StackStatus:
        """How every broker is now. Changes nothing, and needs no right to write."""
        stack = self._known()
        found = {} if stack is None else self._find(stack)
        rows = () if stack is None else tuple(self._status(b, found.get(b.node)) for b in stack.brokers)
        return StackStatus(self._layout.folder, rows)

    def down(self, patience: float = DOWN_SECONDS) -> StackStatus:
        """Stop every broker and leave no process; no change if none runs. Data and ports stay for the next `up`."""
        if self._known() is not None:
            with exclusive(self._layout.lock, LOCK_SECONDS, self._say):
                self._stop(patience)
        return self.status()

    def bootstrap(self) -> str:
        """Where clients connect. An error with the way out if no broker's process is there."""
        stack = self._known()
        if stack is None or not self._find(stack):
            raise StackDownError(
                "The project's embedded Kafka is not up.",
                state=DATA_KEPT,
                hint="`anabranch dev up` starts it; `anabranch dev status` says how it is",
                folder=str(self._layout.folder),
            )
        return ",".join(f"{HOST}:{b.ports.client}" for b in stack.brokers)

    def _known(self) -> Stack | None:
        return state.load(self._layout.state) or recover(self._layout)

    def _find(self, stack: Stack) -> dict[int, psutil.Process]:
        """The living processes of this stack, by node."""
        seen = {b.node: process.find(self._layout, b.node, b.process) for b in stack.brokers}
        return {node: living for node, living in seen.items() if living is not None}

    def _decide(self, brokers: int | None, new_ports: bool) -> Stack:
        """The stack that is to be up, written down before anything is started."""
        stack = self._known()
        if stack is not None and brokers not in (None, len(stack.brokers)):
            if has_data(self._layout) or self._find(stack):
                raise self._count_refused(len(stack.brokers), brokers)
            stack = None
        if stack is None:
            chosen = ports.choose(brokers or 1)
            made = tuple(Broker(node, pair) for node, pair in enumerate(chosen, start=1))
            stack = Stack(new_cluster_id(), made)
        elif new_ports:
            if self._find(stack):
                raise StackRunningError(
                    "A broker that is up can't change its ports.",
                    state=DATA_KEPT,
                    hint="`anabranch dev down`, then `anabranch dev up --new-ports`",
                )
            stack = stack.with_ports(ports.choose(len(stack.brokers)))
        self._save(stack)
        return stack

    def _count_refused(self, has: int, request: int | None) -> BrokerCountError:
        return BrokerCountError(
            f"This project's stack has {has} broker{'s' if has > 1 else ''}, and {request} were asked for. "
            "The number is fixed when the data folders are formatted.",
            state=DATA_KEPT,
            hint=f"`anabranch dev up` for the stack as it is; or, to begin anew WITHOUT its topics: "
            f"`anabranch dev down`, remove {self._layout.kafka}, then `anabranch dev up --brokers {request}`",
            brokers=has,
            request=request,
        )

    def _adopt(self, stack: Stack, found: dict[int, psutil.Process]) -> Stack:
        """Write down processes that a killed `up` started and could not record."""
        recorded = {b.node: b.process for b in stack.brokers}
        adopted = stack
        for node, living in found.items():
            now = process.seen(living)
            if recorded[node] is None or recorded[node] != now:
                adopted = adopted.with_process(node, now)
        if adopted != stack:
            self._save(adopted)
        return adopted

    def _stop(self, patience: float) -> None:
        stack = self._known()
        if stack is None:
            return
        found = self._find(stack)
        process.stop(list(found.values()), patience)
        stopped = stack
        for broker in stack.brokers:
            stopped = stopped.with_process(broker.node, None)
        if stopped != stack:
            self._save(stopped, left_as="Every broker is stopped and its data are kept; only the record is old.")

    def _save(self, stack: Stack, left_as: str = DATA_KEPT) -> None:
        try:
            state.save(self._layout.state, stack)
        except OSError as error:
            raise disk.refusal(self._layout.folder, error, left_as) from error

    def _status(self, broker: Broker, living: psutil.Process | None) -> BrokerStatus:
        port = broker.ports.client
        answers = living is not None and broker.node in probe.members(port, probe.STATUS_SECONDS)
        return BrokerStatus(
            node=broker.node,
            state=judge(recorded=broker.process is not None, process=living is not None, answers=answers),
            port=port,
            pid=None if living is None else living.pid,
            uptime_seconds=None if living is None else self._clock() - process.seen(living).started,
            data_bytes=disk.used(self._layout.data(broker.node)),
            log=self._layout.log(broker.node),
        )
