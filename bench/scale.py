"""How a replay's records per second change with slices, with partitions read at once, and with workers.

The same project runs on this machine alone and on a Spark standalone cluster of one and two workers with a core each;
all of them must make the same rows.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path

from bench.workbench import PARTITIONS, TABLE, Bench, Quiet, bench, fill, keep, prepare, seconds, write_contract
from tests.fixtures.spark_cluster import spark_cluster

from anabranch.adapters.spark.session.session import stop_spark
from anabranch.app.backfill import BackfillRun
from anabranch.app.planning import plan_backfill
from anabranch.app.project_context import open_project
from anabranch.plan.submission import submit
from anabranch.replay.replayer import ReplayEnd
from anabranch.runs.states import Event

RECORDS = int(os.environ.get("BENCH_SCALE_RECORDS", "500000"))
HERE = "local[*,4]"
ON_A_CLUSTER = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.executor.memory": "1g",
    "spark.executor.cores": 1,
}


@contextmanager
def on(place: Bench, master: str, options: dict[str, object] | None = None) -> Iterator[Bench]:
    """The same project, its Spark on another master."""
    file = place.folder / "anabranch.yaml"
    was = file.read_text()
    request = f"master: {master}\n        options: {json.dumps(options or {})}"
    file.write_text(was.replace(f"master: {HERE}", request, 1))
    there = Bench(open_project(place.folder, "dev"))
    spark = there.project_context.spark("bench")
    try:
        yield there
    finally:
        stop_spark(spark)
        file.write_text(was)


def replay(place: Bench, file: Path, slices: int) -> tuple[float, str]:
    """Seconds from the first look to the last slice, and a digest of all rows that were staged."""
    now = datetime.now(timezone.utc)
    planned = plan_backfill(place.project_context, file, now=now, offsets_per_slice=-(-RECORDS // slices))
    with place.project_context.store() as store:
        submitted = submit(store.writer, planned.plan, planned.request.contract, now=now, actor="bench")
        run = BackfillRun(place.project_context, store, submitted.id)
        with run.lease() as lease:

            def work() -> None:
                if run.replay(lease, Quiet()).end is not ReplayEnd.STAGED:
                    raise AssertionError("the replay did not come to its end")

            took = seconds(work)
            made = digest(place, run.staging(lease).name)
            lease.transition(Event.CANCEL)
            run.close(lease, datetime.now(timezone.utc), forfeit="measured")
    return took, made


def digest(place: Bench, branch: str) -> str:
    """Of the rows in the order of their keys, whatever file they are in."""
    rows = place.project_context.catalog.open().load_table(TABLE).scan().use_ref(branch).to_arrow().sort_by("order_id")
    seen = hashlib.sha256()
    for column in rows.column_names:
        seen.update(json.dumps(rows[column].to_pylist(), default=str).encode())
    return f"{rows.num_rows}:{seen.hexdigest()}"


def rate(place: Bench, file: Path, what: str, slices: int) -> tuple[int, str]:
    """Records per second, the better of two after one to warm up."""
    rounds = [replay(place, file, slices) for _ in range(3)]
    if len({made for _, made in rounds}) != 1:
        raise AssertionError(f"{what}: the rows of three replays are not the same")
    found = round(RECORDS / min(took for took, _ in rounds[1:]))
    sys.stderr.write(f"  {what:32} {found:8,} records/s\n")
    return found, rounds[0][1]


def by_slices(place: Bench, found: dict[str, int]) -> str:
    file = write_contract(place, "day")
    with on(place, HERE) as here:
        prepare(here, here.project_context.spark("bench"))
        for slices in (1, 4, 16):
            found[str(slices)], rows = rate(here, file, f"{slices} slices", slices)
    return rows


def by_workers(place: Bench, found: dict[str, int], rows: str) -> None:
    file = write_contract(place, "day")
    for workers in (1, 2):
        with tempfile.TemporaryDirectory() as folder, spark_cluster(Path(folder), workers=workers) as cluster:
            with on(place, cluster.master, ON_A_CLUSTER) as there:
                found[str(workers)], made = rate(there, file, f"{workers} workers of one core", 1)
            if made != rows:
                raise AssertionError(f"{workers} workers made other rows than this machine alone")


def by_partitions(found: dict[str, int]) -> None:
    """A task reads a partition: with one of them, one core has all the work of reading and decoding."""
    for partitions in (1, 2, 8):
        with bench() as place:
            fill(place.bootstrap, RECORDS, partitions=partitions)
            with on(place, HERE) as here:
                prepare(here, here.project_context.spark("bench"))
                file = write_contract(here, "day")
                found[str(partitions)], _ = rate(here, file, f"{partitions} partitions", 1)


def measure() -> dict[str, object]:
    slices: dict[str, int] = {}
    workers: dict[str, int] = {}
    partitions: dict[str, int] = {}
    with bench() as place:
        fill(place.bootstrap, RECORDS)
        rows = by_slices(place, slices)
        by_workers(place, workers, rows)
    by_partitions(partitions)
    return {
        "records_per_second_by_slices": slices,
        "records_per_second_by_workers": workers,
        "records_per_second_by_partitions": {**partitions, str(PARTITIONS): slices["1"]},
        "two_workers_vs_one": round(workers["2"] / workers["1"], 2),
        "same_rows_on_a_cluster": True,
    }


def main() -> None:
    keep(measure())


if __name__ == "__main__":
    main()
