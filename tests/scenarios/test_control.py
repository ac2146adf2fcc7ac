"""A control beside a real fix: rows edited, lost and doubled by hand are told apart from what is fixed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

import pytest

from anabranch.app.backfill import BackfillRun
from anabranch.contract.code_store import CodeStore
from anabranch.contract.load import load_pipelines
from anabranch.runs.journal import Outcome
from anabranch.validate.report import Report
from tests.conformance.classes.dying import dying_at
from tests.fixtures.broker import KafkaForTests
from tests.fixtures.spark import SparkForTests
from tests.scenarios.backfills import Onlooker
from tests.scenarios.checker import BUGGY, FIXED, Row, Rows, between, recomputed
from tests.scenarios.shop import CONTRACT, END, START, Shop, hours
from tests.scenarios.test_catch_up import late

pytestmark = [pytest.mark.long, pytest.mark.spark, pytest.mark.kafka]
RIGHT_RATE, WRONG_RATE = '"GBP": "1.1700"', '"GBP": "0.9200"'


@dataclass
class Story:
    """One run with a control, killed twice in the control's own slices, then promoted and closed."""

    shop: Shop
    run: BackfillRun
    report: Report
    production: Rows
    staged: dict[str, Rows]
    """By branch, as they were after the validation."""
    watched: list[str]
    caught_up: dict[str, Any]
    """The report after the promotion has caught up with live."""
    promoted: Rows
    refs: set[str]

    @property
    def written(self) -> dict[int, tuple[int, int]]:
        """The offsets that live had written at the base."""
        offsets, _ = self.shop.live_offsets[0]
        return dict(offsets)

    def of(self, rates: dict[str, str]) -> Rows:
        """What a version of the code makes of the range, by plain Python."""
        return between(recomputed(self.shop.records(), rates, self.written), START, END)


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory, kafka: KafkaForTests, spark: SparkForTests) -> Iterator[Story]:
    shop = Shop.open(tmp_path_factory.mktemp("control") / "shop", kafka, spark)
    former = keep_wrong_code(shop)
    records = hours()
    records[50] = {**records[50], "value": b"not json"}
    shop.produce(records)
    shop.live(code=former)
    spoil(shop)
    production = shop.rows()
    run = shop.plan(slices=2)
    with pytest.MonkeyPatch.context() as patch:
        for point in ("slice.commit.before:2", "slice.commit.after:1"):
            with dying_at(patch, point):
                shop.apply(shop.again(run.run_id))
    watch = Onlooker()
    report = shop.apply(shop.again(run.run_id), watch)
    branches = [each.name for control in (False, True) for each in run.target.stagings(run.run_id, control=control)]
    staged = {branch: shop.rows(branch) for branch in branches}
    shop.produce(late(9000))
    shop.live(code=former)
    shop.promote(shop.again(run.run_id))
    promoted = shop.rows()
    caught_up = json.loads((run.folder / "validation.json").read_text())
    shop.close(run)
    yield Story(shop, run, report, production, staged, watch.seen, caught_up, promoted, set(shop.table().metadata.refs))
    shop.store.close()


def keep_wrong_code(shop: Shop) -> str:
    """The code as live ran it, kept as live does when it starts; the project then has the corrected one again."""
    code = shop.project_context.folder / "transforms" / "orders.py"
    right = code.read_text()
    assert RIGHT_RATE in right
    code.write_text(right.replace(RIGHT_RATE, WRONG_RATE))
    pipeline = load_pipelines(shop.project_context.loaded)["orders"].pipeline
    digest = CodeStore.below(shop.project_context.state, "orders").keep(shop.project_context.folder, pipeline)
    assert digest == shop.code
    code.write_text(right)
    assert digest != shop.code
    contract = {**CONTRACT, "spec": {**CONTRACT["spec"], "control": {"code": "live"}}}  # type: ignore[dict-item]
    (shop.project_context.folder / "contracts" / "fix.yaml").write_text(json.dumps(contract))
    return digest


def spoil(shop: Shop) -> None:
    """By hand: orders lost (one in pounds), edited (one in pounds), doubled; and one lost outside the range."""
    rows = {row[0]: row for row in shop.rows()}
    for order in ("o41", "o45", "o43", "o48", "o5"):
        shop.table().delete(f"order_id == '{order}'")
    edited = [(*rows[order][:4], Decimal("1.11"), rows[order][5]) for order in ("o43", "o48")]
    shop.write(Counter([*edited, rows["o46"]]), {})


def by_order(rows: Rows) -> dict[str, Rows]:
    found: dict[str, Rows] = {}
    for row, times in rows.items():
        found.setdefault(row[0], Counter())[row] = times
    return found


def charged(story: Story) -> dict[datetime, Counter[str]]:
    """What differs, by the hour of the order, from three plain multisets."""
    sides = [by_order(each) for each in (between(story.production, START, END), story.of(BUGGY), story.of(FIXED))]
    counts: dict[datetime, Counter[str]] = {}
    for order in {order for side in sides for order in side}:
        production, control, fixed = (side.get(order, Counter()) for side in sides)
        row: Row = next(iter(control))
        hour = counts.setdefault(row[-1].replace(minute=0, second=0, microsecond=0), Counter())
        if production != control:
            hour.update(noise=1, both=int(control != fixed))
        elif control != fixed:
            hour.update(fix=1)
    return counts


def test_what_differs_is_charged_as_plain_python_charges_it(story: Story) -> None:
    expected = charged(story)
    total = sum(expected.values(), Counter[str]())
    assert total["noise"] == 5
    assert total["both"] == 2
    assert total["fix"] >= 8
    assert story.report.charges is not None
    found = story.report.charges
    assert found.paired
    assert (found.total.fix, found.total.noise, found.total.both) == (total["fix"], total["noise"], total["both"])
    by_hour = {b.start: b.charge for b in story.report.buckets if b.charge is not None}
    for hour, counts in expected.items():
        charge = by_hour[hour]
        assert (charge.fix, charge.noise, charge.both) == (counts["fix"], counts["noise"], counts["both"])


def test_samples_show_the_rows_that_are_meant(story: Story) -> None:
    charges = story.report.charges
    assert charges is not None
    noise = {str((each.before or each.after or {})["order_id"]): each for each in charges.noise}
    assert set(noise) == {"o41", "o43", "o45", "o46", "o48"}
    assert noise["o41"].before is None
    assert (noise["o43"].before or {})["amount_eur"] == "1.11"
    fixed = {str((each.after or {})["order_id"]) for each in charges.fix}
    assert fixed == {row[0] for row in story.of(FIXED) - story.of(BUGGY)} - {"o45", "o48"}


def test_the_control_has_what_the_former_code_makes_and_staging_what_the_corrected_makes(story: Story) -> None:
    own, control = (branch for branch in story.staged)
    assert "_control_e" in control
    assert between(story.staged[own], START, END) == story.of(FIXED)
    assert between(story.staged[control], START, END) == story.of(BUGGY)


def test_killed_in_the_control_each_slice_of_both_is_done_once(story: Story) -> None:
    planned = [slice_.id for slice_ in story.run.plan.slices]
    assert len(planned) == 2
    assert story.watched == [planned[1]] * 2, "the first slice of both was in the table when the last process began"
    journal = story.shop.store.reader.journal(story.run.run_id)
    for step in ("slice", "control"):
        done = [
            entry.details["slice"] for entry in journal if entry.step == step and entry.outcome is Outcome.SUCCEEDED
        ]
        assert [each for each in done if each in planned] == planned
    assert not [entry for entry in journal if entry.outcome is None]
    assert [row["slice"] for row in story.shop.quarantined() if row["run"]] == [planned[0]], (
        "set aside once, by the fix"
    )


def test_catching_up_with_live_is_no_difference_of_the_fix(story: Story) -> None:
    assert story.report.document()["control"] == story.caught_up["control"]
    assert story.caught_up["rows"]["after"] > story.report.digest.rows


def test_the_promotion_has_the_corrected_rows_and_closing_leaves_nothing_of_the_control(story: Story) -> None:
    shop = story.shop
    everything = {p: (0, end) for p, end in shop.live_position.items()}
    inside = between(recomputed(shop.records(), FIXED, everything), START, END)
    late_ones = recomputed(shop.records(), BUGGY, everything) - recomputed(shop.records(), BUGGY, story.written)
    former = story.production + late_ones
    assert story.promoted == former - between(former, START, END) + inside
    assert story.refs == {"main"}
