"""What a scrape says of runs: gauges of those that are not closed, counters of all."""

from dataclasses import replace
from datetime import datetime, timedelta, timezone

from anabranch.monitoring.run_samples import DatabaseReading, OpenRun, run_samples
from anabranch.monitoring.tally import Recent, Tally
from anabranch.replay.ledger import Account
from anabranch.runs.lease import Lease
from anabranch.runs.pace import Pace
from anabranch.runs.ranges import TargetRange
from anabranch.runs.run import Run
from anabranch.runs.states import State

NOW = datetime(2025, 6, 1, tzinfo=timezone.utc)
SECOND = timedelta(seconds=1)
RUN = Run("r1", "orders", TargetRange("shop.orders", None, None), "c", "p", "ada", State.REPLAYING, 1, NOW, NOW)
TALLY = Tally(
    slices={"succeeded": 4, "failed": 1},
    account=Account(offsets=40, output=38, quarantined=2, rows=38),
    bytes=4000,
    planned=100,
    staged=40,
    recent=Recent(offsets=40, bytes=4000, since=NOW - 20 * SECOND),
)
LEASE = Lease("r1", 1, "me", NOW + 30 * SECOND)
PACE = Pace(NOW, {"source": "contract", "reason": "", "bytes_per_second": 500, "paused": False})
READING = DatabaseReading(NOW, [RUN], {"r1": TALLY}, {"r1": OpenRun(LEASE, PACE, 0.25)}, {("r1", "governor"): 12.0})

Values = dict[tuple[str, ...], float]


def values(reading: DatabaseReading, *pipelines: str) -> Values:
    found = [((s.metric.suffix, *s.labels), s.value) for s in run_samples(reading, pipelines) if s.value is not None]
    assert len(dict(found)) == len(found), "a series twice"
    return dict(found)


def test_a_replaying_run() -> None:
    found = values(READING, "orders")
    assert found["run_info", "r1", "orders", "shop.orders"] == 1
    assert found["run_state", "r1", "replaying"] == 1
    assert found["run_progress_ratio", "r1"] == 0.4
    assert found["rate_bytes_per_second", "r1", "allowed"] == 500
    assert found["rate_bytes_per_second", "r1", "actual"] == 200
    assert found["run_eta_seconds", "r1"] == 30
    assert found["cost_ratio", "r1"] == 0.25
    assert found["run_lease_expiry_timestamp_seconds", "r1"] == (NOW + 30 * SECOND).timestamp()
    assert found["slices_total", "orders", "failed"] == 1
    assert found["records_total", "orders", "output"] == 38
    assert found["read_bytes_total", "orders"] == 4000
    assert found["quarantined_total", "orders", "replay"] == 2
    assert found["throttled_seconds_total", "orders", "governor"] == 12


def test_a_dead_process_has_no_rate_and_no_time_left() -> None:
    expired = replace(LEASE, expires_at=NOW - SECOND)
    found = values(replace(READING, open={"r1": OpenRun(expired, PACE)}), "orders")
    assert {name for name, *_ in found} & {"rate_bytes_per_second", "run_eta_seconds"} == set()
    assert found["run_lease_expiry_timestamp_seconds", "r1"] < NOW.timestamp()


def test_a_stuck_replay_takes_longer_the_longer_it_is_stuck() -> None:
    later = values(replace(READING, at=NOW + 20 * SECOND), "orders")
    assert later["run_eta_seconds", "r1"] == 60
    assert later["rate_bytes_per_second", "r1", "actual"] == 100


def test_without_a_limit_or_a_budget_there_is_no_value() -> None:
    unlimited = replace(PACE, details={**PACE.details, "bytes_per_second": None})
    found = values(replace(READING, open={"r1": OpenRun(LEASE, unlimited)}), "orders")
    assert ("rate_bytes_per_second", "r1", "allowed") not in found
    assert ("cost_ratio", "r1") not in found


def test_a_closed_run_counts_and_has_no_gauge() -> None:
    closed = replace(RUN, state=State.CLOSED)
    promoted = replace(TALLY, promoted_at=NOW - SECOND)
    found = values(DatabaseReading(NOW, [closed], {"r1": promoted}), "orders")
    assert [key for key in found if "r1" in key] == []
    assert found["records_total", "orders", "output"] == 38
    assert found["last_success_timestamp_seconds", "orders"] == (NOW - SECOND).timestamp()


def test_counters_of_a_pipeline_without_a_run_begin_at_0() -> None:
    found = values(DatabaseReading(NOW), "payments")
    assert found["slices_total", "payments", "succeeded"] == 0
    assert found["records_total", "payments", "lost"] == 0
    assert not any(name == "last_success_timestamp_seconds" for name, *_ in found)


def test_quotas_of_open_runs_and_those_that_were_left() -> None:
    found = values(replace(READING, quotas={"r1": 9, "gone": 8}, orphan_quotas=2), "orders")
    assert found["rate_bytes_per_second", "r1", "quota"] == 9
    assert ("rate_bytes_per_second", "gone", "quota") not in found
    assert found["orphan_quotas",] == 2


def test_runs_of_one_pipeline_add_up() -> None:
    other = replace(RUN, id="r2", state=State.CLOSED)
    found = values(replace(READING, runs=[RUN, other], tallies={"r1": TALLY, "r2": TALLY}), "orders")
    assert found["slices_total", "orders", "succeeded"] == 8
