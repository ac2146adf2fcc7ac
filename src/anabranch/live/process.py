"""Live of one pipeline as seen from outside: started as a process of its own, looked at, stopped."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from enum import Enum

import psutil

from anabranch.adapters.embedded.process import SAME_START_SECONDS, alive, find_marked, launch
from anabranch.adapters.embedded.state import Process
from anabranch.adapters.kafka.groups import committed
from anabranch.adapters.kafka.topics import describe_topic, offset_ranges
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
from anabranch.live.record import DriverRecord, Phase, load_record
from anabranch.live.status import Lag, LiveStatus, judge, measure_lag

START_SECONDS = 180.0
STOP_SECONDS = 120.0
GONE_SECONDS = 30.0
POLL_SECONDS = 0.1
LAST_WORDS = 12


class Stopped(str, Enum):
    """How a stop came about."""

    AT_BATCH_BOUNDARY = "at a batch boundary"
    KILLED = "killed"
    """It did not end in time. The batch at hand is done again at the next start, or found to be done."""
    WAS_NOT_RUNNING = "was not running"


class LivePipeline:
    def __init__(
        self, project_context: ProjectContext, pipeline: str, *, say: Callable[[str], None] = lambda _words: None
    ) -> None:
        self._workplace = project_context
        self._loaded = find_pipeline(project_context.loaded, pipeline)
        self._layout = LiveLayout(project_context.state.resolve(), pipeline)
        self._say = say

    def start(self, pace: LivePace | None = None, *, patience: float = START_SECONDS) -> LiveStatus:
        """Start the driver and wait until its query runs; no change if one is there already."""
        if self._find() is not None:
            self._say(f"live {self._loaded.name} is running already")
            return self.status()
        self._workplace.kafka  # noqa: B018 (not up: say so at once, and start nothing)
        started = self._launch(pace or LivePace())
        if started is None:
            raise self._did_not_start(None)
        self._say(f"starting live {self._loaded.name} as process {started.pid}; its log is {self._layout.log}")
        self._await_running(started, time.monotonic() + patience, patience)
        return self.status()

    def status(self) -> LiveStatus:
        """How live is now. Changes nothing."""
        record = load_record(self._layout.record)
        living = self._find()
        if living is not None and record is not None and record.process.pid != living.pid:
            record = None  # of the driver before
        return LiveStatus(
            pipeline=self._loaded.name,
            state=judge(record, living is not None),
            pid=None if living is None else living.pid,
            record=record,
            progress=load_progress(self._layout.progress),
            lag=self._lag(),
            code_on_disk=code_digest(self._workplace.folder, self._loaded.pipeline),
            log=self._layout.log,
        )

    def stop(self, *, patience: float = STOP_SECONDS) -> Stopped:
        """End live after the batch at hand, or kill it when that takes too long. Nothing of it runs afterwards."""
        living = self._find()
        if living is None:
            return Stopped.WAS_NOT_RUNNING
        self._signal(living, "terminate")
        how = Stopped.AT_BATCH_BOUNDARY
        if not _gone(living, patience):
            self._signal(living, "kill")
            _gone(living, GONE_SECONDS)
            how = Stopped.KILLED
        if not is_free(self._layout.lock, GONE_SECONDS):
            raise LiveBusyError(
                f"The driver of {self._loaded.name} is gone, and its JVM does not end.",
                state=CONTINUES,
                hint=f"look for a java process that has {self._layout.lock} open, and end it",
                lock=str(self._layout.lock),
            )
        return how

    def _launch(self, pace: LivePace) -> Process | None:
        layout, log = self._layout, self._layout.log
        for folder in (layout.folder, log.parent):
            folder.mkdir(parents=True, exist_ok=True)
        if log.is_file():
            log.replace(log.with_suffix(".log.1"))  # why the last one ended may be in it
        asked = [
            *("-m", "anabranch.live.main", self._loaded.name, "--project", str(self._workplace.folder)),
            *("--context", self._workplace.loaded.context),
            *("--interval", str(pace.interval_seconds), "--max-offsets", str(pace.max_offsets)),
        ]
        # Not in the project's folder: Python would import any file there in place of an installed package.
        return launch([sys.executable, layout.mark, *asked], log, layout.folder, os.environ)

    def _await_running(self, started: Process, deadline: float, patience: float) -> None:
        while True:
            record = load_record(self._layout.record)
            mine = record if record is not None and record.process.pid == started.pid else None
            if mine is not None and mine.phase is Phase.RUNNING:
                return
            if find_marked(self._layout.mark, started) is None:
                raise self._did_not_start(load_record(self._layout.record))
            if time.monotonic() > deadline:
                raise LiveStartTimeoutError(
                    f"After {patience:.0f} s live {self._loaded.name} does not run yet.",
                    state="It goes on starting.",
                    hint=f"`anabranch live status {self._loaded.name}` in a while; its log is {self._layout.log}",
                )
            time.sleep(POLL_SECONDS)

    def _did_not_start(self, record: DriverRecord | None) -> DidNotStartError:
        name, log = self._loaded.name, self._layout.log
        if record is not None and record.phase is Phase.FAILED and record.error is not None:
            told = record.error
            return DidNotStartError(
                f"Live {name} did not start: {told['what']}  [{told['code']}]",
                state=str(told["state"]),
                command=told["command"],
                hint=told["hint"],
                error=told,
            )
        words = log.read_text(encoding="utf-8", errors="replace").splitlines()[-LAST_WORDS:] if log.is_file() else []
        said = "\n".join(f"  {line}" for line in words) or "  (it said nothing)"
        return DidNotStartError(
            f"Live {name} ended while it was starting. Its last words:\n{said}",
            state=CONTINUES,
            hint=f"mend what {log} complains of, then `anabranch live start {name}`",
        )

    def _find(self) -> psutil.Process | None:
        """The driver's living process. One in somebody's terminal bears no mark, but has written its record."""
        record = load_record(self._layout.record)
        return (record and _living(record.process)) or find_marked(self._layout.mark, None)

    def _lag(self) -> Lag | None:
        try:
            client = self._workplace.kafka.client(client_id(self._loaded.name))
            topic = describe_topic(client, self._loaded.pipeline.spec.source.topic)
            group = self._loaded.pipeline.spec.consumer_group
            return measure_lag(offset_ranges(client, topic), committed(client, group, topic.name))
        except AnabranchError:
            return None  # how the driver is can be told without Kafka, and is asked for when Kafka is down

    def _signal(self, living: psutil.Process, verb: str) -> None:
        try:
            getattr(living, verb)()
        except psutil.NoSuchProcess:
            return
        except psutil.AccessDenied as error:
            raise NotPermittedError(
                f"Live {self._loaded.name} (process {living.pid}) was started by another user.",
                state="It goes on running.",
                hint="stop it as the user who started it",
                pid=living.pid,
            ) from error


def _living(recorded: Process) -> psutil.Process | None:
    try:
        found = psutil.Process(recorded.pid)
        same = abs(found.create_time() - recorded.started) < SAME_START_SECONDS
    except psutil.NoSuchProcess:
        return None
    return found if same and alive(found) else None


def _gone(living: psutil.Process, patience: float) -> bool:
    deadline = time.monotonic() + patience
    while alive(living):
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_SECONDS)
    return True
