"""The JVM of this process's Spark session: whether it runs, and the error with the reason if it ended."""

from __future__ import annotations

import logging
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from anabranch.adapters.spark.session.jvm_exit import explain_exit
from anabranch.errors import AnabranchError, text_of

ENDING_SECONDS = 20.0
"""Seconds for which Spark may still answer after an OutOfMemoryError before its JVM ends."""
LOST_SECONDS = 5.0
"""Seconds between the loss of the connection and the availability of the exit code."""
TAIL_BYTES = 64 * 1024
_SIGNS = ("OutOfMemoryError", "SparkContext was shut down", "stopped SparkContext", "Answer from Java side is empty")
_LOST = ("Py4JNetworkError", "Py4JError")
"""Exactly these types: a Py4JJavaError is a Java exception from a running JVM."""


class JvmDiedError(AnabranchError):
    code = "spark.jvm-died"

    @property
    def cause(self) -> str | None:
        """None: the underlying lost connection explains nothing. The message has the reason."""
        return None


@dataclass(frozen=True)
class Jvm:
    process: subprocess.Popen[bytes]
    log: Path
    log_begins: int
    """Offset in the log at which this JVM's output begins."""
    memory: str


_current: Jvm | None = None


def remember(jvm: Jvm | None) -> None:
    """Set this process's JVM; None after it was stopped."""
    global _current
    _current = jvm
    root = logging.getLogger()
    if not any(isinstance(each, _Py4JFilter) for each in root.filters):
        root.addFilter(_Py4JFilter())


def is_dead() -> bool:
    """Whether the JVM ended without being stopped."""
    return _current is not None and _current.process.poll() is not None


@contextmanager
def jvm_death_reported(state: str, command: str) -> Iterator[None]:
    """Raise JvmDiedError for an exception that an ended JVM caused. Other exceptions pass unchanged."""
    try:
        yield
    except JvmDiedError:
        raise
    except Exception as error:
        died = death(error, state, command)
        if died is None:
            raise
        raise died from error


def death(error: BaseException, state: str, command: str) -> JvmDiedError | None:
    """The error to report instead of `error`, if the JVM ended, or ran out of memory even if it still runs."""
    if _current is None:
        return None
    patience = _patience(error)
    if not is_dead() and not patience:
        return None
    try:
        code: int | None = _current.process.wait(patience)
    except subprocess.TimeoutExpired:
        code = None
    text = _text(error)
    if code is None and "OutOfMemoryError" not in text:
        return None
    cause = explain_exit(code, _tail(_current) + ("\n" + text if code is None else ""), _current.memory)
    lines = "".join(f"\n  {line[:300]}" for line in cause.lines)
    return JvmDiedError(
        f"Spark's JVM {'is ending' if code is None else 'died'}: {cause.reason}."
        + (f" Last lines of {_current.log}:{lines}" if lines else ""),
        state=state,
        command=command,
        hint=cause.remedy,
        exit_code_of_jvm=code,
        log=str(_current.log),
        driver_memory=_current.memory,
    )


def _patience(error: BaseException) -> float:
    """Seconds to wait for the JVM's end after this error; 0 if the error does not indicate it."""
    if any(sign in _text(error) for sign in _SIGNS):
        return ENDING_SECONDS
    lost = any(isinstance(e, ConnectionError | EOFError) or type(e).__name__ in _LOST for e in _chain(error))
    return LOST_SECONDS if lost else 0.0


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    following: BaseException | None = error
    while following is not None and id(following) not in seen:
        seen.add(id(following))
        yield following
        following = following.__cause__ or following.__context__


def _text(error: BaseException) -> str:
    return "\n".join(text_of(each) for each in _chain(error))


def _tail(jvm: Jvm) -> str:
    try:
        with jvm.log.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(jvm.log_begins, size - TAIL_BYTES))
            return file.read().decode("utf-8", errors="replace")
    except OSError:
        return ""


class _Py4JFilter(logging.Filter):
    """Py4J also logs a lost connection with its traceback; the error is reported by the command instead."""

    def filter(self, record: logging.LogRecord) -> bool:
        return "py4j" not in record.pathname
