"""Runs the command of a hook: no shell, an environment of its own, killed with its children after its timeout."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from anabranch.errors import AnabranchError
from anabranch.runs.hooks import HookResult

PASSED = ("PATH", "HOME", "LANG", "LC_ALL", "LOGNAME", "TMPDIR", "TZ", "USER")
"""What a hook sees of this process's environment. Credentials are in other variables."""
LAST_BYTES = 500


@dataclass(frozen=True)
class HookProcess:
    """A `HookRunner`."""

    folder: Path
    timeout: float
    secrets: Callable[[], Mapping[str, str]]
    """The variables that the context gives its hooks, revealed for each run."""

    def __call__(self, command: Sequence[str], variables: Mapping[str, str]) -> HookResult:
        passed = {name: os.environ[name] for name in PASSED if name in os.environ}
        try:
            environment = {**passed, **self.secrets(), **variables}
        except AnabranchError as error:
            return HookResult(None, 0.0, f"was not started: {error.what}")
        begun = time.monotonic()
        with TemporaryFile() as output:
            try:
                process = subprocess.Popen(
                    list(command),
                    cwd=self.folder,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            except OSError as error:
                return HookResult(None, 0.0, f"could not be started: {error.strerror or error}")
            try:
                code = process.wait(self.timeout)
            except BaseException as error:
                _kill(process)
                if not isinstance(error, subprocess.TimeoutExpired):
                    raise
                words = f"did not end within {self.timeout:g} s and was killed"
                return HookResult(None, time.monotonic() - begun, words, _last(output))
            return HookResult(code, time.monotonic() - begun, f"ended with exit code {code}", _last(output))


def _kill(process: subprocess.Popen[bytes]) -> None:
    """The whole session: a child that outlives the hook could go on acting for a step that did not begin."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _last(output: IO[bytes]) -> str:
    output.seek(0, os.SEEK_END)
    output.seek(max(0, output.tell() - LAST_BYTES))
    text = output.read().decode("utf-8", "replace")
    return " / ".join(line.strip() for line in text.splitlines() if line.strip())
