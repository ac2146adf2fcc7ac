"""The calls that give another result each time they are made, and what to write instead."""

from __future__ import annotations

from dataclasses import dataclass

CLOCK = "`run.clock` (in SQL `_timestamp`): when the broker took the record, the same live and in a replay"
CHANCE = "`run.random('name')` (in SQL `xxhash64('name', _partition, _offset)`): the same for an event each time"
IDENTITY = "`run.uuid('name')` (in SQL `md5(concat_ws('/', _topic, _partition, _offset))`): the same for an event"
PLACE = "`_partition` and `_offset`, which say where an event stands for good"
ORDER = "an order that the data itself gives, such as `array_sort`"
LOOKUP = (
    "`lookups: {name: database.table}` in the pipeline and `run.lookup('name')` (in SQL the view `name`): a plan "
    "pins the table's snapshot"
)
SAMPLING = "a filter on `run.random('name')`: which events it takes is then the same each time"

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
"""Functions that SQL also takes without brackets."""

ONLY_WITHOUT_ARGUMENTS = frozenset({"unix_timestamp"})
"""With an argument they turn a moment that they are given, and are harmless."""

METHODS = {"sample": SAMPLING, "sampleBy": SAMPLING, "randomSplit": SAMPLING, "table": LOOKUP}
"""Of a DataFrame or a session."""

READERS = {"read": LOOKUP, "readStream": LOOKUP}
"""What a session reads by: `spark.read.parquet(…)`."""

TABLE = "table"
"""What reading a table by its own name is called, in SQL too."""

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
"""By dotted name; a module means everything in it."""

NAMES = frozenset((*SQL, *METHODS, *READERS, *PYTHON))
"""What a pipeline may allow, by name."""


@dataclass(frozen=True)
class Unpinned:
    """One place in a transform where the same events may give other rows."""

    file: str
    line: int
    name: str
    instead: str

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}"
