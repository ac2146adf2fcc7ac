"""Non-deterministic calls, and what to write instead."""

from __future__ import annotations

from dataclasses import dataclass

CLOCK = "`run.clock` (in SQL `_timestamp`): the record's broker timestamp, the same live and in a replay"
CHANCE = (
    "`run.random('name')` (in SQL `xxhash64('name', _partition, _offset)`): the same value for an event in every run"
)
IDENTITY = (
    "`run.uuid('name')` (in SQL `md5(concat_ws('/', _topic, _partition, _offset))`): "
    "the same value for an event in every run"
)
PLACE = "`_partition` and `_offset`, which never change for an event"
ORDER = "an order by the data itself, such as `array_sort`"
LOOKUP = (
    "`lookups: {name: database.table}` in the pipeline and `run.lookup('name')` (in SQL the view `name`): a plan "
    "pins the table's snapshot"
)
SAMPLING = "a filter on `run.random('name')`: it selects the same events in every run"

SQL: dict[str, str] = {
    **dict.fromkeys(
        ("current_timestamp", "now", "current_date", "curdate", "current_time", "localtimestamp", "unix_timestamp"),
        CLOCK,
    ),
    **dict.fromkeys(("rand", "random", "randn", "randstr", "uniform"), CHANCE),
    "uuid": IDENTITY,
    "shuffle": ORDER,
    **dict.fromkeys(("monotonically_increasing_id", "spark_partition_id", "input_file_name"), PLACE),
}
"""By the function's name in SQL, which is also its name in pyspark.sql.functions."""

SQL_WORDS = frozenset({"current_timestamp", "current_date", "current_time", "localtimestamp"})
"""Functions that SQL also accepts without parentheses."""

ONLY_WITHOUT_ARGUMENTS = frozenset({"unix_timestamp"})
"""With an argument they convert a given time, which is deterministic."""

METHODS = {"sample": SAMPLING, "sampleBy": SAMPLING, "randomSplit": SAMPLING, "table": LOOKUP}
"""Of a DataFrame or a session."""

READERS = {"read": LOOKUP, "readStream": LOOKUP}
"""Attributes by which a session reads: `spark.read.parquet(…)`."""

TABLE = "table"
"""The name for reading a table by its own name, in Python and in SQL."""

PYTHON: dict[str, str] = {
    **dict.fromkeys(
        (
            *("datetime.datetime.now", "datetime.datetime.utcnow", "datetime.datetime.today", "datetime.date.today"),
            *("time.time", "time.time_ns", "time.monotonic", "time.monotonic_ns", "time.perf_counter"),
            *("pandas.Timestamp.now", "pandas.Timestamp.utcnow", "pandas.Timestamp.today"),
        ),
        CLOCK,
    ),
    **dict.fromkeys(("random", "secrets", "numpy.random", "os.urandom"), CHANCE),
    **dict.fromkeys(("uuid.uuid1", "uuid.uuid4"), IDENTITY),
}
"""By dotted name; a module stands for everything in it."""

NAMES = frozenset((*SQL, *METHODS, *READERS, *PYTHON))
"""The names that `transform.allow` accepts."""


@dataclass(frozen=True)
class Unpinned:
    """One non-deterministic call in a transform: there, the same events may give other rows."""

    file: str
    line: int
    name: str
    instead: str

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}"
