"""Lookup tables: live reads them as they are at each batch, a backfill as its plan has pinned them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from tests.conformance.classes.kinds import STATELESS, UPSERT, Kind
from tests.conformance.classes.scene import ACCOUNTS, Scene
from tests.scenarios.backfills import NOW, Onlooker

from anabranch.adapters.iceberg import properties as props
from anabranch.adapters.iceberg.refs import head_of
from anabranch.adapters.iceberg.target import IcebergTarget
from anabranch.adapters.sql.store import open_store
from anabranch.app.planning import plan_backfill
from anabranch.gates.checks import offset_control
from anabranch.gates.colour import Colour
from anabranch.plan.drift_errors import LookupGoneError
from anabranch.plan.lookup_tables import LookupPin, LookupUnreadableError

pytestmark = [pytest.mark.long, pytest.mark.spark, pytest.mark.kafka, pytest.mark.timeout(1200)]
TABLE = "bank.factors"
CODE = """
from pyspark.sql import functions as F

def transform(events, run):
    known = events.join(F.broadcast(run.lookup("factors")), "account")
    return known.select("account", (F.col("factor") * F.col("amount")).alias("amount"), "at", "_partition", "_offset")
"""
SQL = """
SELECT account, factor * amount AS amount, at, _partition, _offset FROM events JOIN factors USING (account)
"""


class Factors:
    """A table with a factor for every account."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        tables = scene.project_context.catalog.open()
        tables.create_namespace_if_not_exists("bank")
        tables.create_table(TABLE, pa.schema([("account", pa.string()), ("factor", pa.int64())]))

    def set(self, factor: int) -> int:
        """The same for all; the table's snapshot then."""
        table = self.scene.project_context.catalog.open().load_table(TABLE)
        write = table.append if table.current_snapshot() is None else table.overwrite
        write(pa.Table.from_pylist([{"account": f"a{n}", "factor": factor} for n in range(ACCOUNTS)]))
        head = table.refresh().current_snapshot()
        assert head is not None
        return head.snapshot_id

    def expire(self, snapshot: int) -> None:
        self.scene.project_context.catalog.open().load_table(TABLE).maintenance.expire_snapshots().by_id(
            snapshot
        ).commit()


def edited(file: Path, **spec: object) -> None:
    document = json.loads(file.read_text())
    file.write_text(json.dumps({**document, "spec": {**document["spec"], **spec}}))


def times(scene: Scene, *factors: int) -> Counter[tuple[object, ...]]:
    """By plain Python: the rows of each batch of live, with the factor that is given for it."""
    rows: Counter[tuple[object, ...]] = Counter()
    for record in scene.records():
        batch = next(i for i, (ends, _) in enumerate(scene.batches) if record.offset < ends[record.partition])
        event = json.loads(record.value or b"")
        rows[event["account"], factors[batch] * event["amount"], event["at"]] += 1
    return rows


def test_live_reads_the_head_and_a_replay_what_was_pinned(new_scene: Callable[..., Scene], tmp_path: Path) -> None:
    scene = new_scene(replace(STATELESS, code=CODE))
    folder = scene.project_context.folder
    pipeline, contract = folder / "pipelines" / "accounts.yaml", folder / "contracts" / "fix.yaml"
    edited(pipeline, lookups={"factors": TABLE})
    factors = Factors(scene)
    with pytest.raises(LookupUnreadableError, match="no snapshot yet"):
        scene.live()
    first = factors.set(1)
    scene.produce(1, 20, seed=1)
    scene.live()
    second = factors.set(2)
    scene.produce(2, 20, seed=2)
    scene.live()
    assert scene.rows() == times(scene, 1, 2)
    told = [snapshot.summary for snapshot in scene.table().snapshots()]
    read = [json.loads(each.additional_properties[props.LOOKUPS])["factors"]["snapshot"] for each in told if each]
    assert read == [str(first), str(second)]

    edited(contract, lookups={"factors": {"snapshot": second}})
    digests, hashes = set(), set()
    for number, after in enumerate((3, 4)):
        with open_store(f"sqlite:///{tmp_path / f'runs{number}.db'}") as store:
            run = scene.plan(slices=1, store=store)
            assert run.plan.lookups == {"factors": LookupPin(TABLE, head_of(second))}
            hashes.add(run.plan.hash)
            third = factors.set(after)
            digests.add(scene.apply(run).digest)
            [branch] = (each.name for each in run.target.stagings(run.run_id))
            assert scene.rows(branch) == times(scene, 2, 2)
    assert len(hashes) == len(digests) == 1, "the same contract and code, whatever became of the table meanwhile"

    (folder / "transforms" / "accounts.sql").write_text(SQL)
    edited(pipeline, transform={"sql": "transforms/accounts.sql"})
    run = scene.plan(slices=2)
    assert run.plan.hash not in hashes, "it is other code"
    with run.lease() as lease, pytest.raises(LookupGoneError, match=str(second)) as refused:
        run.replay(lease, Onlooker(lambda _: factors.expire(second)))
    [branch] = (each.name for each in run.target.stagings(run.run_id))
    assert times(scene, 2, 2) > scene.rows(branch) > Counter(), "one slice, in which SQL has looked up the same"
    assert "plan again" in refused.value.remedy
    with pytest.raises(LookupUnreadableError, match=f"no snapshot {second}"):
        plan_backfill(scene.project_context, contract, now=NOW)
    edited(contract, lookups={"factors": {"asOf": "2025-06-01T00:00:00Z"}})
    with pytest.raises(LookupUnreadableError, match="2025-06-01"):
        plan_backfill(scene.project_context, contract, now=NOW)
    edited(contract, lookups={"factors": {"asOf": "2025-08-01T00:00:00Z"}})
    with pytest.raises(LookupUnreadableError, match="is in the future"):
        plan_backfill(scene.project_context, contract, now=NOW)
    edited(contract, lookups={"factors": {"snapshot": third}})
    assert plan_backfill(scene.project_context, contract, now=NOW).plan.lookups["factors"].snapshot == head_of(third)


@pytest.mark.parametrize("kind", [STATELESS, UPSERT], ids=lambda kind: kind.name)
def test_gate_and_promotion_agree_on_a_lookup_that_is_gone_after_staging(
    damaged: Callable[[Kind], Scene], kind: Kind
) -> None:
    """A range is promoted: nothing reads the lookup again. A whole table is not: its rollback would have to."""
    scene = damaged(kind)
    factors = Factors(scene)
    first = factors.set(1)
    edited(scene.project_context.folder / "pipelines" / "accounts.yaml", lookups={"factors": TABLE})
    run = scene.again(scene.plan(slices=1).run_id)
    scene.apply(run)
    factors.set(2)
    factors.expire(first)
    [gate] = [each for each in run.gates.score().judgements if each.gate == offset_control.NAME]
    if run.plan.strategy.whole_table:
        assert gate.colour is Colour.RED
        with run.lease() as lease, pytest.raises(LookupGoneError, match=str(first)):
            run.promote(lease, Onlooker(), NOW)
    else:
        assert gate.colour is not Colour.RED
        with run.lease() as lease:
            promoted = run.promote(lease, Onlooker(), NOW)
        assert promoted == IcebergTarget(run.project_context.catalog.open(), run.plan.target.table).head()
