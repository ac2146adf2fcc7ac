"""Controls live of one pipeline from another process: start, status, stop."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from enum import Enum
from shlex import quote

import psutil

from anabranch.adapters import processes
from anabranch.adapters.kafka.groups import committed
from anabranch.adapters.kafka.topics import describe_topic, offset_ranges
from anabranch.adapters.processes import Process
from anabranch.app.project_context import ProjectContext
from anabranch.contract.code import code_digest
from anabranch.errors import AnabranchError
from anabranch.live.errors import (
    CONTINUES,
    DidNotStartError,
    LiveBusyError,
    LiveStartTimeoutError,
    NotPermittedError,
)
from anabranch.live.layout import LiveLayout
from anabranch.live.lock import is_free
from anabranch.live.pace import LivePace, client_id
from anabranch.live.pipelines import find_pipeline
from anabranch.live.progress import load_progress
from anabranch.live.record import DriverPhase, DriverRecord, load_record
from anabranch.live.status import Lag, LiveStatus, live_state, measure_lag

START_SECONDS = 180.0
STOP_SECONDS = 120.0
KILL_SECONDS = 30.0
POLL_SECONDS = 0.1


class StopOutcome(str, Enum):
    """How live was stopped."""

    AT_BATCH_BOUNDARY = "at a batch boundary"
    KILLED = "killed"
    """It did not end in time. At the next start the interrupted batch is looked up, and run again if it is missing."""
    WAS_NOT_RUNNING = "was not running"


class LivePipeline:
    def __init__(
        self, project_context: ProjectContext, pipeline: str, *, say: Callable[[str], None] = lambda _line: None
    ) -> None:
        self._project_context = project_context
        self._loaded = find_pipeline(project_context.loaded, pipeline)
        self._layout = LiveLayout(project_context.state.resolve(), pipeline)
        self._say = say

    def start(self, pace: LivePace | None = None, *, patience: float = START_SECONDS) -> LiveStatus:
        """Start the driver and wait until its query runs. Idempotent."""
        if self._find() is not None:
            self._say(f"live {self._loaded.name} is already running")
            return self.status()
        self._project_context.kafka  # noqa: B018 (raises before anything is started if Kafka is not up)
        started = self._launch(pace or LivePace())
        if started is None:
            raise self._did_not_start(None)
        self._say(f"starting live {self._loaded.name} as process {started.pid}; its log is {self._layout.log}")
        self._await_running(started, time.monotonic() + patience, patience)
        return self.status()

    def status(self) -> LiveStatus:
        """The status of live. Reads only."""
        record = load_record(self._layout.record)
        running = self._find()
        if running is not None and record is not None and record.process.pid != running.pid:
            record = None  # of an earlier driver
        return LiveStatus(
            pipeline=self._loaded.name,
            state=live_state(record, running is not None),
            pid=None if running is None else running.pid,
            record=record,
            progress=load_progress(self._layout.progress),
            lag=self._lag(),
            code_on_disk=code_digest(self._project_context.folder, self._loaded.pipeline),
            log=self._layout.log,
        )

    def stop(self, *, patience: float = STOP_SECONDS) -> StopOutcome:
        """Stop live at the end of its batch, or kill it after `patience` s. No process of it runs afterwards.

        Raises NotPermittedError for a process of another user, and LiveBusyError if its JVM does not end.
        """
        running = self._find()
        if running is None:
            return StopOutcome.WAS_NOT_RUNNING
        try:
            stopped = processes.stop([running], patience, KILL_SECONDS)
        except psutil.AccessDenied as error:
            raise NotPermittedError(
                f"Live {self._loaded.name} (process {running.pid}) was started by another user.",
                state="Live is still running.",
                hint="Stop it as the user who started it",
                pid=running.pid,
            ) from error
        if not is_free(self._layout.lock, KILL_SECONDS):
            raise LiveBusyError(
                f"The driver of live {self._loaded.name} has ended, but its JVM is still running.",
                state=CONTINUES,
                command=f"fuser {quote(str(self._layout.lock))}",
                hint="End the java process that has this lock file open",
                lock=str(self._layout.lock),
            )
        return StopOutcome.KILLED if stopped.killed else StopOutcome.AT_BATCH_BOUNDARY

    def _launch(self, pace: LivePace) -> Process | None:
        layout, log = self._layout, self._layout.log
        for folder in (layout.folder, log.parent):
            folder.mkdir(parents=True, exist_ok=True)
        if log.is_file():
            log.replace(log.with_suffix(".log.1"))  # it may say why the last driver ended
        arguments = [
            *("-m", "anabranch.live.main", self._loaded.name, "--project", str(self._project_context.folder)),
            *("--context", self._project_context.loaded.context),
            *("--interval", str(pace.interval_seconds), "--max-offsets", str(pace.max_offsets)),
        ]
        # Not in the project's folder: Python would import its files instead of installed packages.
        return processes.launch([sys.executable, layout.mark, *arguments], log, layout.folder, os.environ)

    def _await_running(self, started: Process, deadline: float, patience: float) -> None:
        while True:
            record = load_record(self._layout.record)
            own_record = record if record is not None and record.process.pid == started.pid else None
            if own_record is not None and own_record.phase is DriverPhase.RUNNING:
                return
            if processes.find_marked(self._layout.mark, started) is None:
                raise self._did_not_start(load_record(self._layout.record))
            if time.monotonic() > deadline:
                raise LiveStartTimeoutError(
                    f"Live {self._loaded.name} did not start within {patience:.0f} s.",
                    state="The process is still starting.",
                    command=f"anabranch live status {self._loaded.name}",
                    hint=f"Its log is {self._layout.log}",
                )
            time.sleep(POLL_SECONDS)

    def _did_not_start(self, record: DriverRecord | None) -> DidNotStartError:
        name, log = self._loaded.name, self._layout.log
        if record is not None and record.phase is DriverPhase.FAILED and record.error is not None:
            failure = record.error
            return DidNotStartError(
                f"Live {name} did not start: {failure['what']}  [{failure['code']}]",
                state=str(failure["state"]),
                command=failure["command"],
                hint=failure["hint"],
                error=failure,
            )
        return DidNotStartError(
            f"Live {name} exited during startup. Last log lines:\n{processes.last_log_lines((log, 0))}",
            state=CONTINUES,
            command=f"anabranch live start {name}",
            hint=f"Fix the error that {log} reports, then start live again",
        )

    def _find(self) -> psutil.Process | None:
        """The driver's running process. One started with `live run` has no mark, but has written its record."""
        record = load_record(self._layout.record)
        return (record and processes.find_recorded(record.process)) or processes.find_marked(self._layout.mark, None)

    def _lag(self) -> Lag | None:
        try:
            client = self._project_context.kafka.client(client_id(self._loaded.name))
            topic = describe_topic(client, self._loaded.pipeline.spec.source.topic)
            group = self._loaded.pipeline.spec.consumer_group
            return measure_lag(offset_ranges(client, topic), committed(client, group, topic.name))
        except AnabranchError:
            return None  # the status is needed most when Kafka is down
