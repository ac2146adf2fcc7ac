"""A backfill of millions of rows beyond its replay: what a kill costs, promotion and rollback, and memory.

By hand one would write the corrected rows to a table of their own and then `INSERT OVERWRITE` the range from it. Ours
are timed as `anabranch promote` and `anabranch rollback` do them, with gates, journal and audit.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from pathlib import Path
from statistics import mean

import psutil
from bench import by_hand
from bench.workbench import TOPIC, Bench, Quiet, alternating, bench, fill, keep, prepare, write_contract
from pyspark.sql import SparkSession

from anabranch.adapters.spark.write.target_table import spark_name
from anabranch.app.backfill import BackfillRun, submit_contract
from anabranch.replay.replayer import ReplayEnd
from anabranch.runs.journal import JournalEntry, Outcome
from anabranch.runs.states import ACTIVE, State

RECORDS = int(os.environ.get("BENCH_LIFECYCLE_RECORDS", "12000000"))
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "5"))
HOURS, TIMES = 20, 10
"""The large backfill is of all hours, the small one of a tenth of them."""
KILLED_AFTER = (2, 5, 8, 11, 14, 17)
"""Slices that are there when the large one is killed."""


def now() -> datetime:
    return datetime.now(timezone.utc)


def production(place: Bench, spark: SparkSession) -> None:
    """All rows where the pipeline writes them, and twice more for the way by hand: as they are, and corrected."""
    raw = spark.read.format("kafka").options(**by_hand.source(place.bootstrap, TOPIC)).load()
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS `{place.project_context.catalog.name}`.hand")
    by_hand.rows(raw).writeTo(spark_name(place.project_context.catalog, TOPIC)).append()
    for name in ("orders", "corrected"):
        table = spark_name(place.project_context.catalog, f"hand.{name}")
        by_hand.create(spark, table)
        by_hand.rows(raw).writeTo(table).append()


def insert_overwrite(place: Bench, spark: SparkSession) -> None:
    orders, corrected = (spark_name(place.project_context.catalog, f"hand.{name}") for name in ("orders", "corrected"))
    spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    spark.sql(f"INSERT OVERWRITE {orders} SELECT * FROM {corrected}")  # noqa: S608 - both names are ours


@contextmanager
def run_of(place: Bench, file: Path) -> Iterator[BackfillRun]:
    with place.project_context.store() as store:
        run = submit_contract(place.project_context, store, file, now=now(), actor="bench")
        yield BackfillRun(place.project_context, store, run.id)


def finish(run: BackfillRun) -> None:
    """Replay what is missing, and validate."""
    with run.lease() as lease:
        if run.replay(lease, Quiet()).end is not ReplayEnd.STAGED:
            raise AssertionError("the replay did not come to its end")
        run.validate(lease, now())
    if run.run.state is not State.VALIDATED:
        raise AssertionError(f"the run is {run.run.state.value}")


def killed(place: Bench, file: Path, after: int) -> float:
    """A replay in a process of its own, killed once so many slices are there: how many slices' work that lost."""
    notes = place.folder / f"killed-after-{after}"
    command = [sys.executable, "-m", "bench.noted_replay", str(place.folder), str(file), str(notes)]
    process = subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while len(done := committed(place)) < after:
        time.sleep(0.2)
        if process.poll() is not None:
            raise AssertionError("the replay ended before it could be killed")
    last, former = done[-1].settled_at, done[-2].settled_at
    if last is None or former is None:
        raise AssertionError("a committed slice has no time")
    time.sleep(random.uniform(0, 1) * (last - former).total_seconds())  # noqa: S311
    at = time.time()
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    return lost(notes.read_text().splitlines(), at, {str(entry.details["slice"]) for entry in committed(place)})


def committed(place: Bench) -> list[JournalEntry]:
    """The slices of the one active run that are there, in order."""
    with place.project_context.store() as store:
        journals = [store.reader.journal(run.id) for run in store.reader.runs(states=ACTIVE)]
        entries = [entry for journal in journals for entry in journal if entry.step == "slice"]
    return [entry for entry in entries if entry.outcome is Outcome.SUCCEEDED]


def lost(notes: Sequence[str], at: float, there: set[str]) -> float:
    """Of the slices that were begun and are not there, made ones are one each, others by how long the last one took."""
    noted: dict[str, dict[str, float]] = {"begun": {}, "made": {}}
    for word, slice_, moment in (line.split() for line in notes):
        noted[word][slice_] = float(moment)
    begun, made = noted["begun"], noted["made"]
    usual = next(made[slice_] - begun[slice_] for slice_ in reversed(made))
    return sum(
        1.0 if slice_ in made else min(1.0, (at - moment) / usual)
        for slice_, moment in begun.items()
        if slice_ not in there
    )


def promote(run: BackfillRun) -> None:
    with run.lease() as lease:
        run.promote(lease, Quiet(), now())


def roll_back(run: BackfillRun) -> None:
    with run.lease() as lease:
        run.roll_back(lease, "measured")


def memory(spark: SparkSession) -> float:
    """Bytes that the driver holds on to: the JVM's heap after a collection, and Python."""
    jvm = spark._jvm
    if jvm is None:
        raise AssertionError("Spark has no JVM")
    jvm.java.lang.System.gc()
    runtime = jvm.java.lang.Runtime.getRuntime()
    return float(runtime.totalMemory() - runtime.freeMemory() + psutil.Process().memory_info().rss)


def measure(place: Bench) -> dict[str, object]:
    fill(place.bootstrap, RECORDS, span=timedelta(hours=HOURS))
    spark = place.project_context.spark("bench")
    prepare(place, spark)
    production(place, spark)
    theirs = {"insert_overwrite": lambda: insert_overwrite(place, spark)}
    with run_of(place, write_contract(place, "small", HOURS // TIMES)) as small:
        finish(small)
        held_small = memory(spark)
        ours = {"promote": lambda: promote(small), "rollback": lambda: roll_back(small)}
        # Beside the same work as the large one: a machine that has just overwritten millions of rows is a busy one.
        quick = alternating({**ours, **theirs}, ROUNDS)
        with small.lease() as lease:
            small.close(lease, now(), forfeit="measured")
    large = write_contract(place, "large", HOURS)
    losses = [killed(place, large, after) for after in KILLED_AFTER]
    sys.stderr.write(f"  lost by each kill, in slices: {[round(each, 2) for each in losses]}\n")
    with run_of(place, large) as run:
        finish(run)
        held_large = memory(spark)
        twice = mean(losses)
        times = alternating({"promote": lambda: promote(run), "rollback": lambda: roll_back(run), **theirs}, ROUNDS)
    return {
        "promote_vs_insert_overwrite": round(times["insert_overwrite"] / times["promote"], 1),
        "rollback_vs_insert_overwrite": round(times["insert_overwrite"] / times["rollback"], 1),
        "promote_growth": round(times["promote"] / quick["promote"], 2),
        "promote_rows": RECORDS,
        "memory_growth": round(held_large / held_small, 3),
        "resume_waste": round(twice / (len(run.plan.slices) + twice), 3),
    }


def main() -> None:
    with bench() as place:
        keep(measure(place))


if __name__ == "__main__":
    main()
