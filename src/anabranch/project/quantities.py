"""Durations, sizes, percentages and moments in text form: `30m`, `20MiB`, `1%`, `2025-06-01T00:00:00Z`."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from typing import Annotated

from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema

from anabranch.project.refusals import refuse

_SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_UNITS = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
_MOMENT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?(Z|[-+][0-9]{2}:[0-9]{2})"
)
LONGEST = timedelta(days=36500)


def parse_duration(value: object) -> timedelta:
    """`90s`, `30m`, `12h`, `7d`, or several together: `1h30m`."""
    if isinstance(value, timedelta):
        return value
    text = value if isinstance(value, str) else ""
    if not re.fullmatch(r"([0-9]{1,9}(ms|s|m|h|d|w))+", text):
        raise refuse("this is not a duration", "a number and a unit (ms, s, m, h, d, w): 30m")
    total = timedelta()
    for number, unit in re.findall(r"([0-9]+)(ms|s|m|h|d|w)", text):
        # Milliseconds are added as integers, because 0.001 s is not exact in binary.
        total += (
            timedelta(milliseconds=int(number)) if unit == "ms" else timedelta(seconds=int(number) * _SECONDS[unit])
        )
        if total > LONGEST:
            raise refuse("this duration is longer than 100 years", "a shorter one: 30d")
    if not total:
        raise refuse("this duration is zero", "a positive one: 30m")
    return total


def format_duration(duration: timedelta) -> str:
    """The shortest text that parses back to the same duration (whole milliseconds)."""
    left, text = duration // timedelta(milliseconds=1), ""
    for unit, size in (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)):
        count, left = divmod(left, size)
        text += f"{count}{unit}" if count else ""
    return text


def roughly(duration: timedelta) -> str:
    """Rounded for display: the largest unit and the next one, `12d4h` or `3m20s`."""
    seconds = max(0, round(duration.total_seconds()))
    coarse = next((size for size, least in ((3600, 2 * 86400), (60, 2 * 3600)) if seconds >= least), 1)
    return format_duration(timedelta(seconds=seconds // coarse * coarse)) or "0s"


def parse_size(value: object) -> int:
    """A number of bytes, or a number with a unit: `20MiB`, `5MB`."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 2**63:
        return value
    match = re.fullmatch(r"([0-9]{1,12}) ?(B|kB|MB|GB|KiB|MiB|GiB)", value) if isinstance(value, str) else None
    if match is None or int(match[1]) == 0:
        raise refuse(
            "this is not a size", "a number of bytes, or a number and a unit (kB, MB, GB, KiB, MiB, GiB): 20MiB"
        )
    return int(match[1]) * _UNITS[match[2]]


def format_rate(bytes_per_second: float) -> str:
    """For display: `2.0 MB/s`, below 0.1 MB/s `52.4 kB/s`, below 0.1 kB/s `16 B/s`: a low rate is not shown as 0."""
    if bytes_per_second < 100:
        return f"{bytes_per_second:,.0f} B/s"
    if bytes_per_second < 100_000:
        return f"{bytes_per_second / 1e3:,.1f} kB/s"
    return f"{bytes_per_second / 1e6:,.1f} MB/s"


def parse_percentage(value: object) -> float:
    """`0.5%` as the ratio 0.005."""
    match = re.fullmatch(r"([0-9]{1,3}(\.[0-9]{1,6})?) ?%", value) if isinstance(value, str) else None
    if match is None or float(match[1]) > 100:
        raise refuse("this is not a percentage", "a number from 0 to 100 with a percent sign: 1%")
    return float(match[1]) / 100


def parse_moment(value: object) -> datetime:
    """A moment, converted to UTC. Refused without a time zone, since it would be ambiguous."""
    text = value if isinstance(value, str) else ""
    if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9:.]+)?", text):
        raise refuse("this moment has no time zone", "date, time and zone: 2025-06-01T00:00:00Z")
    if not _MOMENT.fullmatch(text):
        raise refuse("this is not a moment", "date, time and zone: 2025-06-01T00:00:00Z")
    try:
        moment = datetime.fromisoformat(_for_python_310(text)).astimezone(timezone.utc)
    except (ValueError, OverflowError):
        raise refuse("this moment does not exist", "date, time and zone: 2025-06-01T00:00:00Z") from None
    if moment.year < 1970:
        raise refuse("this moment is before 1970, the first year that Kafka supports", "a later one") from None
    return moment


def _for_python_310(text: str) -> str:
    """Python 3.10 reads neither `Z` nor a fraction of other than three or six digits."""
    text = text.replace("Z", "+00:00")
    return re.sub(r"\.([0-9]+)", lambda fraction: f".{fraction[1]:0<6}", text)


def format_moment(moment: datetime) -> str:
    """A moment in UTC, in the format of the files."""
    return moment.astimezone(timezone.utc).isoformat().replace("+00:00", "Z")


Duration = Annotated[
    timedelta,
    BeforeValidator(parse_duration),
    PlainSerializer(format_duration, return_type=str),
    WithJsonSchema({"type": "string", "pattern": r"^([0-9]{1,9}(ms|s|m|h|d|w))+$"}),
]
Size = Annotated[
    int,
    BeforeValidator(parse_size),
    WithJsonSchema(
        {"type": ["integer", "string"], "pattern": r"^[0-9]{1,12} ?(B|kB|MB|GB|KiB|MiB|GiB)$", "minimum": 1}
    ),
]
Percentage = Annotated[
    float,
    BeforeValidator(parse_percentage),
    PlainSerializer(lambda ratio: f"{ratio * 100:.10g}%", return_type=str),
    WithJsonSchema({"type": "string", "pattern": r"^[0-9]{1,3}(\.[0-9]{1,6})? ?%$"}),
]
Moment = Annotated[
    datetime,
    BeforeValidator(parse_moment),
    PlainSerializer(format_moment, return_type=str),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]
