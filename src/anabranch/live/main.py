"""Entry point of the driver process: `python -m anabranch.live.main PIPELINE --project DIR …`."""

from __future__ import annotations

import argparse
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from pathlib import Path
from threading import Event
from types import FrameType

from anabranch.app.project_context import ProjectContext, open_project
from anabranch.errors import AnabranchError, ExitCode
from anabranch.live.driver import Driver
from anabranch.live.pace import LivePace
from anabranch.live.pipelines import find_pipeline


def run_here(project_context: ProjectContext, pipeline: str, pace: LivePace, say: Callable[[str], None]) -> None:
    """Run live in this process. SIGTERM or Ctrl-C stops it at the end of the batch."""
    stop = Event()
    handle_signals(stop)
    loaded = find_pipeline(project_context.loaded, pipeline)
    # Spark installs its own handler for Ctrl-C, which would cancel a running batch, so ours is installed again.
    Driver(project_context, loaded, pace, stop, say, ready=lambda: handle_signals(stop)).run()


def handle_signals(stop: Event) -> None:
    def request_stop(_signal: int, _frame: FrameType | None) -> None:
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, request_stop)


def log(line: str) -> None:
    moment = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    sys.stderr.write(f"{moment} {line}\n")
    sys.stderr.flush()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="anabranch.live")
    parser.add_argument("pipeline")
    parser.add_argument("--project", type=Path, required=True)
    parser.add_argument("--context", required=True)
    parser.add_argument("--interval", type=float, required=True)
    parser.add_argument("--max-offsets", type=int, required=True)
    options = parser.parse_args(arguments)
    try:
        project_context = open_project(options.project, options.context)
        run_here(project_context, options.pipeline, LivePace(options.interval, options.max_offsets), log)
    except AnabranchError as error:
        log(f"{error.what}  [{error.code}]\n{traceback.format_exc()}")
        return int(error.exit_code)
    return int(ExitCode.DONE)


if __name__ == "__main__":
    sys.exit(main())
