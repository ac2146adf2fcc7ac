"""Attributes an error of Spark or Python to a line of the user's transform."""

from __future__ import annotations

import logging
import re
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from anabranch.errors import AnabranchError, ExitCode

_IN_A_WORKER = re.compile(r'File "([^"]+)", line (\d+)')
_CALLED_FROM = re.compile(r"was called from\s+(\S+):(\d+)")
_IN_SQL = re.compile(r"\bline (\d+),? pos")
_LAST_WORDS = re.compile(r"^(?:[\w.]+\.)?(\w*(?:Error|Exception|Warning)): (.*)$", re.MULTILINE)


_CHATTER = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")


class TransformFailedError(AnabranchError):
    """The user's own code failed. The message names the line; Spark's stack is shown with `--debug`."""

    code = "transform.failed"
    exit_code = ExitCode.FAILED

    @property
    def cause(self) -> str | None:
        """One line; Spark's text also has the whole plan."""
        return None if self.__cause__ is None else _short(self.__cause__)


@contextmanager
def lines_noted(spark: SparkSession) -> Iterator[None]:
    """Make PySpark record the call sites of expressions during the block, in this thread's session.

    That takes a third of the time of building a query, so it is on for the user's code only.
    """
    sessions = getattr(spark._jvm, "org.apache.spark.sql.classic.SparkSession")
    before = sessions.getActiveSession()
    sessions.setActiveSession(spark._jsparkSession)
    try:
        yield
    finally:
        if before.isDefined():
            sessions.setActiveSession(before.get())
        else:
            sessions.clearActiveSession()


@contextmanager
def attribute_transform_errors(folder: Path, file: Path) -> Iterator[None]:
    """Turn an error that comes from code of the project into one that names the file and line.

    `file` is the transform's file, for an error without a more exact place. An error without a trace of the user's
    code passes unchanged.
    """
    for logger in _CHATTER:
        # PySpark also prints such an error as JSON; the raised error is sufficient.
        logging.getLogger(logger).disabled = True
    try:
        yield
    except AnabranchError:
        raise
    except Exception as error:
        place = _place(error, folder, file)
        if place is None:
            raise
        raise TransformFailedError(
            f"The transform failed at {place}: {_short(error)}",
            state="No row of this batch was written.",
            hint="fix that line; the batch is then read again, and no event is lost",
            place=place,
        ) from error


def _place(error: BaseException, folder: Path, file: Path) -> str | None:
    """file:line of the innermost known frame of the user's code."""
    root = folder.resolve()
    seen = [(frame.filename, frame.lineno or 0) for frame in traceback.extract_tb(error.__traceback__)]
    if isinstance(error, SyntaxError) and error.filename:
        seen.append((error.filename, error.lineno or 0))
    text = str(error)
    seen += [(name, int(line)) for name, line in (*_IN_A_WORKER.findall(text), *_CALLED_FROM.findall(text))]
    ours = [(path, line) for name, line in seen if (path := _below(root, name))]
    if ours:
        return f"{ours[-1][0]}:{ours[-1][1]}"
    if file.suffix == ".sql" and (found := _IN_SQL.search(text)):
        return f"{_below(root, str(file))}:{found[1]}"
    return None


def _below(root: Path, name: str) -> str | None:
    path = Path(name)
    return path.relative_to(root).as_posix() if path.is_absolute() and path.is_relative_to(root) else None


def _short(error: BaseException) -> str:
    """The first informative line; of a worker's traceback, the last line."""
    text = str(error)
    if "Traceback (most recent call last)" in text and (words := _LAST_WORDS.findall(text)):
        kind, what = words[-1]
        return f"{kind}: {what}"
    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return f"{type(error).__name__}: {first}" if first else type(error).__name__
