"""Why Spark's JVM ended, from its exit code and its log, and which setting to change. Pure."""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass

OUT_OF_MEMORY_CODES = frozenset({3, 52})
"""3: -XX:+ExitOnOutOfMemoryError. 52: Spark ends itself after an OutOfMemoryError of a task."""
UNCAUGHT_CODES = frozenset({50, 51})
SHOWN_LINES = 6
_MEMORY = re.compile(r"java\.lang\.OutOfMemoryError[^\n]*")
_FRAME = re.compile(r"^\s*(at |\.\.\. \d+ more)")
_CHATTER = ("WARNING: Using incubator modules", "RejectedExecutionException", "ERROR Inbox: Ignoring error")


@dataclass(frozen=True)
class JvmExit:
    reason: str
    remedy: str
    """The remedy, without the command that continues the work."""
    lines: tuple[str, ...]
    """The last informative lines of the log, without stack frames."""


def explain_exit(code: int | None, log: str, memory: str) -> JvmExit:
    """`code` as Popen has it, negative for a signal; None for a JVM that is still ending. `memory` is its heap."""
    lines = tuple(line.rstrip() for line in log.splitlines() if _says_something(line))[-SHOWN_LINES:]
    found = _MEMORY.search(log)
    if found or code in OUT_OF_MEMORY_CODES:
        words = found[0].removeprefix("java.lang.") if found else "OutOfMemoryError"
        return JvmExit(f"out of memory ({words}; heap {memory}{_exit(code)})", _more(memory), lines)
    number = -code if code is not None and code < 0 else None
    if number is None and code is not None and code > 128:
        number = code - 128  # as a shell encodes a signal
    if number is not None:
        return _killed(number, memory, lines)
    reason = "uncaught exception" if code in UNCAUGHT_CODES else "ended without a signal"
    return JvmExit(f"{reason}{_exit(code)}", "fix the error that the log shows", lines)


def _killed(number: int, memory: str, lines: tuple[str, ...]) -> JvmExit:
    try:
        name = signal.Signals(number).name
    except ValueError:
        name = f"signal {number}"
    if name == "SIGKILL":
        return JvmExit(
            f"killed by {name}, which the kernel sends when the machine or container is out of memory",
            f"look for `Out of memory` in `dmesg`; if it is there, set spark.driverMemory (now {memory}) in "
            "anabranch.yaml to less than the memory of the machine or container",
            lines,
        )
    return JvmExit(f"killed by {name}", "find the process that sent the signal", lines)


def _more(memory: str) -> str:
    doubled = f"{2 * int(memory[:-1])}{memory[-1]}" if re.fullmatch(r"\d+[a-z]", memory) else "more"
    return f"set spark.driverMemory in anabranch.yaml to {doubled} (now {memory})"


def _exit(code: int | None) -> str:
    return "" if code is None else f"; exit code {code}"


def _says_something(line: str) -> bool:
    return bool(line.strip()) and not _FRAME.match(line) and not any(each in line for each in _CHATTER)
