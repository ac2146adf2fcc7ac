"""Every metric: its name, kind, labels, source and help. `docs/monitoring.md` lists the same."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

PREFIX = "anabranch_"


class MetricKind(str, Enum):
    GAUGE = "gauge"
    COUNTER = "counter"


class Source(str, Enum):
    """Where a metric is read. One that can't be read leaves its metrics out, and its `anabranch_up` is 0."""

    EXPORTER = "exporter"
    DATABASE = "database"
    AUDIT = "audit"
    """The audit chain, which is in the control database too, but is verified less often than runs are read."""
    KAFKA = "kafka"
    TABLES = "tables"


@dataclass(frozen=True)
class Definition:
    suffix: str
    """The name without the prefix."""
    kind: MetricKind
    source: Source
    labels: tuple[str, ...]
    help: str

    @property
    def name(self) -> str:
        return PREFIX + self.suffix


def _gauge(suffix: str, source: Source, labels: str, words: str) -> Definition:
    return Definition(suffix, MetricKind.GAUGE, source, tuple(labels.split()), words)


def _counter(suffix: str, source: Source, labels: str, words: str) -> Definition:
    return Definition(suffix, MetricKind.COUNTER, source, tuple(labels.split()), words)


BUILD_INFO = _gauge("build_info", Source.EXPORTER, "version", "Version of Anabranch that serves the metrics; always 1.")
UP = _gauge("up", Source.EXPORTER, "source", "Whether the source could be read for this scrape: 1 or 0.")

RUN_INFO = _gauge("run_info", Source.DATABASE, "run pipeline table", "A run that is not closed; always 1.")
RUN_STATE = _gauge("run_state", Source.DATABASE, "run state", "State of a run that is not closed; always 1.")
RUN_PROGRESS = _gauge("run_progress_ratio", Source.DATABASE, "run", "Offsets in staging, of the offsets of the plan.")
RUN_ETA = _gauge(
    "run_eta_seconds",
    Source.DATABASE,
    "run",
    "Seconds until all offsets of the plan are staged, at the rate of the last slices; absent unless replaying.",
)
RUN_LEASE = _gauge(
    "run_lease_expiry_timestamp_seconds",
    Source.DATABASE,
    "run",
    "When the lease of the process that works on the run expires unless renewed; absent without such a process.",
)
RATE = _gauge(
    "rate_bytes_per_second",
    Source.DATABASE,
    "run kind",
    "Byte rate of a replay: `allowed` by the lowest limit, `actual` of the last slices, `quota` at each broker.",
)
HEADROOM = _gauge(
    "retention_headroom_seconds",
    Source.DATABASE,
    "run",
    "Seconds until retention may delete the first record that the run has still to read; absent without such a limit.",
)
PRESSURE = _gauge(
    "governor_pressure_ratio",
    Source.DATABASE,
    "run signal",
    "A signal of live over its target, as the governor of a replay last judged it.",
)
SIGNAL_AGE = _gauge(
    "signal_age_seconds", Source.DATABASE, "run signal", "Seconds since the governor of a replay last read the signal."
)
IMPACT = _gauge(
    "impact_ratio",
    Source.DATABASE,
    "run bound",
    "Live's latency with the replay over that without it, by `anabranch impact`: `lower` and `upper` of 95 %, `mean`.",
)
QUEUE = _gauge("queue_length", Source.DATABASE, "", "Runs that wait for their turn in the replay budget.")
BUDGET = _gauge(
    "budget_bytes_per_second", Source.DATABASE, "", "The replay budget of the context; absent if it has none."
)
ORPHAN_QUOTAS = _gauge(
    "orphan_quotas", Source.DATABASE, "", "Broker quotas on record whose process has ended without removing them."
)
COST_RATIO = _gauge(
    "cost_ratio", Source.DATABASE, "run", "Cost of reading and computing so far, of the contract's budget.cost."
)
LAST_SUCCESS = _gauge(
    "last_success_timestamp_seconds", Source.DATABASE, "pipeline", "When a run of the pipeline was last promoted."
)
SLICES = _counter(
    "slices_total", Source.DATABASE, "pipeline state", "Slices by outcome, `succeeded` or `failed`, controls included."
)
RECORDS = _counter(
    "records_total",
    Source.DATABASE,
    "pipeline outcome",
    "Replayed offsets by their fate in the ledger.",
)
READ_BYTES = _counter(
    "read_bytes_total", Source.DATABASE, "pipeline", "Bytes that replays have read from Kafka for staged slices."
)
THROTTLED = _counter(
    "throttled_seconds_total",
    Source.DATABASE,
    "pipeline reason",
    "Seconds in which a limit held replays, by its source.",
)
QUARANTINED = _counter(
    "quarantined_total",
    Source.DATABASE,
    "pipeline traffic",
    "Records put into quarantine by `replay`, or by our own `live` since it was started.",
)
AUDIT_INTACT = _gauge("audit_chain_intact", Source.AUDIT, "", "Whether the audit chain verifies: 1 or 0.")

LIVE_LAG_SECONDS = _gauge(
    "live_lag_seconds",
    Source.DATABASE,
    "pipeline",
    "Age of the oldest record that live has not written, as the governor of a replay observed it.",
)
LIVE_LATENCY = _gauge(
    "live_commit_latency_seconds",
    Source.DATABASE,
    "pipeline",
    "Seconds from a record's arrival to live's commit, as the governor of a replay last judged it.",
)
LIVE_LAG_RECORDS = _gauge(
    "live_lag_records",
    Source.KAFKA,
    "pipeline",
    "Offsets between live's position and the end of the log. Position: of its group, else of its commits to the table.",
)
DRAIN_RATE = _gauge(
    "drain_rate_records_per_second",
    Source.KAFKA,
    "pipeline",
    "Offsets per second by which live's position grew between the last two readings.",
)
LIVE_FRESHNESS = _gauge(
    "live_freshness_seconds", Source.TABLES, "pipeline", "Age of the newest event that our own live has written."
)
TABLE_FILES = _gauge("table_files", Source.TABLES, "table", "Data files of the current snapshot of main.")
TABLE_SNAPSHOTS = _gauge("table_snapshots", Source.TABLES, "table", "Snapshots in the table's metadata.")

DEFINITIONS = (
    BUILD_INFO,
    UP,
    RUN_INFO,
    RUN_STATE,
    RUN_PROGRESS,
    RUN_ETA,
    RUN_LEASE,
    RATE,
    HEADROOM,
    PRESSURE,
    SIGNAL_AGE,
    IMPACT,
    QUEUE,
    BUDGET,
    ORPHAN_QUOTAS,
    COST_RATIO,
    LAST_SUCCESS,
    SLICES,
    RECORDS,
    READ_BYTES,
    THROTTLED,
    QUARANTINED,
    AUDIT_INTACT,
    LIVE_LAG_RECORDS,
    LIVE_LAG_SECONDS,
    LIVE_LATENCY,
    DRAIN_RATE,
    LIVE_FRESHNESS,
    TABLE_FILES,
    TABLE_SNAPSHOTS,
)
