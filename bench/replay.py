"""How fast a replay is, with every safety on, beside what one would write by hand: records per second, as ratios.

Ours is what `anabranch apply` does up to the staged table: plan, branch, and every slice with its ledger as a commit of
its own. Journal and audit are in it; validation, which the others don't have, is not.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import datetime, timezone
from decimal import Decimal
from functools import partial
from pathlib import Path

from bench import by_hand
from bench.plain_session import plain_session
from bench.workbench import (
    PARTITIONS,
    TABLE,
    TOPIC,
    Bench,
    Quiet,
    alternating,
    bench,
    fill,
    keep,
    prepare,
    write_contract,
)
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from anabranch.adapters.jvm.artifacts import ArtifactCache, locked
from anabranch.adapters.spark.write.target_table import spark_name
from anabranch.app.backfill import BackfillRun, submit_contract
from anabranch.replay.replayer import ReplayEnd
from anabranch.runs.states import Event

RECORDS = int(os.environ.get("BENCH_RECORDS", "8000000"))
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "5"))
WARM_UP = 3
"""Java compiles what it runs often, and a replay has more of that than one query."""
PLAIN = ("plain_stream", "plain_batch")
"""Run in a session of their own, with Spark as it comes."""


def replay(place: Bench, file: Path, check: bool = False) -> None:
    """One run from its plan to its staged rows, given up after that."""
    with place.project_context.store() as store:
        run = submit_contract(place.project_context, store, file, now=datetime.now(timezone.utc), actor="bench")
        backfill = BackfillRun(place.project_context, store, run.id)
        with backfill.lease() as lease:
            if backfill.replay(lease, Quiet()).end is not ReplayEnd.STAGED:
                raise AssertionError("the replay did not come to its end")
            if check:
                require_same(place, backfill.staging(lease).name)
            lease.transition(Event.CANCEL)
            backfill.close(lease, datetime.now(timezone.utc), forfeit="measured")


def require_same(place: Bench, branch: str) -> None:
    """All contestants must have made the same rows, in all columns, each as often."""
    spark, catalog = place.project_context.spark("bench"), place.project_context.catalog
    ours = digest(spark.read.option("branch", branch).table(spark_name(catalog, TABLE)))
    for name in (*PLAIN, "tuned_batch"):
        theirs = digest(spark.table(spark_name(catalog, f"hand.{name}")))
        if theirs != ours:
            raise AssertionError(f"{name} has {theirs}, and ours are {ours}")


def digest(rows: DataFrame) -> tuple[int, Decimal]:
    """How many there are, and a sum over all of them that does not depend on their order."""
    every = F.sum(F.xxhash64(*sorted(rows.columns)).cast("decimal(38,0)"))
    count, total = rows.agg(F.count("*"), every).collect()[0]
    return count, total


def measure(place: Bench) -> dict[str, object]:
    fill(place.bootstrap, RECORDS)
    spark = place.project_context.spark("bench")
    prepare(place, spark)
    file = write_contract(place, "day")
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS `{place.project_context.catalog.name}`.hand")

    def table(name: str) -> str:
        return spark_name(place.project_context.catalog, f"hand.{name}")

    def tuned() -> None:
        """In our own session, with all that we have tuned in it."""
        by_hand.create(spark, table("tuned_batch"))
        by_hand.tuned_batch(spark, place.bootstrap, TOPIC, table("tuned_batch"))

    jars = [str(jar) for jar in ArtifactCache().fetch(locked("spark"))]
    memory = place.project_context.loaded.settings.spark.driver_memory
    with plain_session(jars, place.project_context.catalog.spark_options(), memory) as plain:
        contestants: dict[str, Callable[[], None]] = {
            name: partial(plain.run, name, place.bootstrap, TOPIC, table(name)) for name in PLAIN
        }
        contestants["tuned_batch"] = tuned
        contestants["bare_consumer"] = lambda: by_hand.bare_consumer(place.bootstrap, TOPIC, PARTITIONS, RECORDS)
        contestants["replay"] = lambda: replay(place, file)
        times = alternating(contestants, ROUNDS, warm_up=WARM_UP)
    replay(place, file, check=True)
    ours = times.pop("replay")
    rates = {f"{name}_records_per_second": round(RECORDS / each) for name, each in {**times, "replay": ours}.items()}
    return {**{f"replay_vs_{name}": round(each / ours, 3) for name, each in times.items()}, **rates}


def main() -> None:
    with bench() as place:
        keep(measure(place))


if __name__ == "__main__":
    main()
