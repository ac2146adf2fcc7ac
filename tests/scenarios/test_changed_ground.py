"""The code and the table under a run: what changes while it is replayed, and transforms that can't be replayed."""

from __future__ import annotations

import pytest
from pyiceberg.types import StringType

from anabranch.runs.states import State
from anabranch.validate.report import Verdict
from tests.scenarios.backfills import Onlooker
from tests.scenarios.shop import Shop, refusal, staged_slices


def test_code_that_changes_between_slices_stops_the_run_and_the_former_code_lets_it_go_on(shop: Shop) -> None:
    file = shop.project_context.folder / "transforms" / "orders.py"
    was = file.read_text()
    run = shop.plan(slices=2)
    error = refusal(shop.apply, run, Onlooker(lambda _: file.write_text(was + "\n# another word\n") and None))
    assert error.code == "plan.code-changed"
    assert "restore the former code" in error.remedy
    assert (staged_slices(run), run.run.state) == (1, State.FAILED)
    shop.require(shop.former())
    file.write_text(was)
    run = shop.again(run.run_id)
    assert shop.apply(run, watch := Onlooker()).verdict is Verdict.ACCEPTED
    assert watch.seen == [run.plan.slices[1].id]
    shop.promote(run)
    shop.require(shop.corrected())


def test_a_column_added_to_the_target_between_slices_stops_the_run(shop: Shop) -> None:
    def add(_: str) -> None:
        with shop.table().update_schema() as change:
            change.add_column("note", StringType())

    run = shop.plan(slices=2)
    error = refusal(shop.apply, run, Onlooker(add))
    assert error.code == "plan.schema-changed"
    assert "Production unchanged" in error.state
    assert "plan again" in error.remedy
    assert (staged_slices(run), run.run.state) == (1, State.FAILED)
    shop.require(shop.former())
    assert refusal(shop.promote, shop.again(run.run_id), Onlooker()).code == "plan.schema-changed"


@pytest.mark.parametrize(
    ("line", "becomes", "code", "says", "blamed"),
    [
        (
            '"ordered_at",',
            "(F.col('ordered_at') + F.expr(\"INTERVAL 1 HOUR\")).alias('ordered_at'),",
            "replay.row-outside-range",
            "the transform returned ordered_at = ",
            None,
        ),
        ('"customer",', "F.col('nobody').alias('customer'),", "transform.failed", "nobody", "return events"),
        (
            '"customer",',
            "F.udf(lambda name: name[99], 'string')('customer').alias('customer'),",
            "transform.failed",
            "IndexError: string index out of range",
            '"customer",',
        ),
    ],
    ids=["moves rows in time", "names a column that is not there", "raises while rows are made"],
)
def test_a_transform_that_can_t_be_replayed_is_named_and_nothing_is_staged(
    shop: Shop, line: str, becomes: str, code: str, says: str, blamed: str | None
) -> None:
    file = shop.project_context.folder / "transforms" / "orders.py"
    was = file.read_text()
    assert line in was
    file.write_text(was.replace(line, becomes, 1))
    run = shop.plan(slices=1)
    error = refusal(shop.apply, run, Onlooker())
    assert error.code == code
    assert says in error.what
    assert "Production unchanged" in error.state
    assert (staged_slices(run), run.run.state) == (0, State.FAILED)
    shop.require(shop.former())
    if blamed is not None:
        number = 1 + was[: was.index(blamed)].count("\n")
        assert f"transforms/orders.py:{number}: " in error.what
        assert "plan again" in error.remedy
    file.write_text(was)
    mended = refusal(shop.apply, shop.again(run.run_id), Onlooker())
    assert mended.code == "plan.code-changed"
    assert "plan again" in mended.remedy
