"""Starts things at the same instant, in threads or in processes of their own, and collects what became of each."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import TypeVar

from sqlalchemy import URL

Answer = TypeVar("Answer")


def race(racers: Sequence[Callable[[], Answer]]) -> list[Answer | Exception]:
    """Run all of them at once, each in a thread; an exception counts as an answer."""
    barrier = Barrier(len(racers))

    def run(racer: Callable[[], Answer]) -> Answer | Exception:
        barrier.wait(timeout=30)
        try:
            return racer()
        except Exception as error:  # handed to the test, which judges it
            return error

    with ThreadPoolExecutor(len(racers)) as pool:
        return list(pool.map(run, racers))


def race_processes(script: str, url: URL, count: int) -> list[str]:
    """Run `script` in `count` processes, each told the database's URL and its own number; what each printed."""
    arguments = [sys.executable, "-c", script, url.render_as_string(hide_password=False)]
    # They wait for a line on stdin, so that the slow part (starting Python) is over when the race begins.
    processes = [
        subprocess.Popen(
            [*arguments, str(number)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for number in range(count)
    ]
    try:
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        return [process.communicate(timeout=120)[0] for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()
