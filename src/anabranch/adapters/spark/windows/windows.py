"""Windows on Spark: the windows of an event, and the check that a transform's rows have the declared windows."""

from __future__ import annotations

from datetime import timedelta

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from anabranch.adapters.spark.decode.decode import EVENT_TIME
from anabranch.contract.event_window import EventWindow
from anabranch.errors import AnabranchError, ExitCode
from anabranch.project.quantities import format_duration

WINDOW = "_window"
_MICROSECOND = timedelta(microseconds=1)


class WindowError(AnabranchError):
    """A row's window differs from the pipeline's declaration."""

    code = "transform.window"
    exit_code = ExitCode.REFUSED


def window_column(window: EventWindow) -> Column:
    """The grouping column. Live and replay use its start and end."""
    if window.kind == "session":
        column = F.session_window(EVENT_TIME, _text(window.gap))
    elif window.slide is not None:
        column = F.window(EVENT_TIME, _text(window.size), _text(window.slide))
    else:
        column = F.window(EVENT_TIME, _text(window.size))
    return column.alias(WINDOW)


def first_start(window: EventWindow) -> Column:
    """The start (µs) of the earliest window of an event; for sessions, of a session with only this event."""
    at = F.unix_micros(EVENT_TIME)
    if window.size is None:
        return at
    step = F.lit(window.step // _MICROSECOND)
    beyond = F.pmod(at, step)
    more = F.floor((F.lit(window.size // _MICROSECOND - 1) - beyond) / step)
    return at - beyond - more.cast("bigint") * step


def last_start(window: EventWindow) -> Column:
    """The start (µs) of the latest window of an event."""
    at = F.unix_micros(EVENT_TIME)
    return at if window.size is None else at - F.pmod(at, F.lit(window.step // _MICROSECOND))


def length(window: EventWindow) -> int:
    """The length (µs) of a window; for sessions, the minimum."""
    return (window.size or window.gap or timedelta()) // _MICROSECOND


def start_within(window: EventWindow, start: int, after: int) -> tuple[Column, Column]:
    """The start (µs) of the event's earliest window that begins in [start, after), and whether there is one.

    The start of a session is unknown before aggregation: any event that may be part of one is included.
    """
    if window.size is None:
        at = F.unix_micros(EVENT_TIME)
        return at, (at >= start) & (at < after + window.longest_window // _MICROSECOND)
    step = window.step // _MICROSECOND
    earliest = F.greatest(first_start(window), F.lit(-(-start // step) * step))
    return earliest, (earliest <= last_start(window)) & (earliest < after)


def last_start_within(window: EventWindow, after: int) -> Column:
    """The start (µs) of the event's latest window that begins before `after`."""
    step = window.step // _MICROSECOND
    return F.least(last_start(window), F.lit((after - 1) // step * step))


def is_late(window: EventWindow, late_before: int) -> Column:
    """Whether live, at this watermark (ms), dropped the event from at least one window."""
    return first_start(window) + length(window) <= F.lit(late_before * 1000)


def require_windows(rows: DataFrame, window: EventWindow, axis: str, state: str) -> None:
    """Raise WindowError for a row whose window is not as declared: a replay would read its events at the wrong offsets.

    It computes all rows, so persist them first.
    """
    start, end = F.unix_micros(f"{WINDOW}.start"), F.unix_micros(f"{WINDOW}.end")
    size = F.lit(length(window))
    fits = end - start >= size if window.size is None else end - start == size
    fits = fits & (F.pmod(start, F.lit(window.step // _MICROSECOND)) == 0)
    at_start = F.unix_micros(F.col(f"`{axis}`").cast("timestamp")) == start
    it = F.struct(F.col(WINDOW).cast("string").alias("it"))
    first = rows.agg(
        F.min(F.when(~F.coalesce(fits, F.lit(False)), it)).alias("size"),
        F.min(F.when(~F.coalesce(at_start, F.lit(False)), it)).alias("start"),
    ).first()
    if first is None:
        raise AssertionError("an aggregate without groups has one row")
    if first["size"] is not None:
        raise WindowError(
            f"The transform returned a row of window {first['size']['it']}, "
            f"but the pipeline declares {_words(window)}.",
            state=state,
            hint="group by `run.window`, or declare the transform's window under `window`",
        )
    if first["start"] is not None:
        raise WindowError(
            f"The table is partitioned by {axis}, but a row of window {first['start']['it']} "
            "has another time in that column.",
            state=state,
            hint=f'write the start of the window to that column: F.col("_window.start").alias("{axis}")',
        )


def _text(duration: timedelta | None) -> str:
    return f"{(duration or timedelta()) // timedelta(milliseconds=1)} milliseconds"


def _words(window: EventWindow) -> str:
    if window.size is None:
        return f"sessions that end after {format_duration(window.gap or timedelta())}"
    slide = "" if window.slide is None else f" every {format_duration(window.slide)}"
    return f"windows of {format_duration(window.size)}{slide}"
