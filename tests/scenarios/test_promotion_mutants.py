"""Faults put into promotion and rollback on purpose: each loses or adds rows, and the checker of rows finds out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.table.refs import SnapshotRefType

from anabranch.adapters.iceberg import target as iceberg
from anabranch.adapters.iceberg.commits import MAIN, point, replace_files, require
from anabranch.adapters.iceberg.refs import before_tag, head_of
from anabranch.adapters.iceberg.target import IcebergTarget
from anabranch.errors import AnabranchError
from anabranch.promote import promotion
from anabranch.promote.history import Author, BlockedByCommit, ClearToPromote, StagingBehind, classify_range_commits
from anabranch.promote.ports import CommitNote, TargetHistory
from anabranch.promote.promotion import Promotion
from anabranch.replay.staging import Staging, take_staging
from anabranch.runs.heads import Head
from anabranch.runs.run_lease import LEASE_DURATION, RunLease
from tests.integration.promote.shop import STAGED, Rows, Shop, former, open_shop

Patch = pytest.MonkeyPatch
FORMER = former(0, 1, 2, 3, 4, 5)
PROMOTED = former(0, 1, 4, 5) + STAGED


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    shop = open_shop(tmp_path / ".anabranch")
    shop.submit_validated()
    yield shop
    shop.store.close()


def beside_live(shop: Shop, patch: Patch) -> bool:
    """Live commits before, after, and in the very moment of each promotion and rollback. Whether all is right."""
    live: Rows = Counter()
    look, write = Promotion._clear, replace_files
    steps: list[str] = []

    def live_after_the_look(self: Promotion) -> tuple[TargetHistory, ClearToPromote]:
        seen = look(self)
        steps.append("look")
        if moment == "look" and steps == ["look", "look"]:  # the first look only asks whether to begin
            live[shop.live(2)] += 1
        return seen

    def live_before_the_commit(tx: Any, ref: str, *rest: Any) -> int:
        steps.append("commit")
        if moment == "commit" and steps.count("commit") == 1:
            live[shop.live(2)] += 1
        return write(tx, ref, *rest)

    patch.setattr(Promotion, "_clear", live_after_the_look)
    patch.setattr(iceberg, "replace_files", live_before_the_commit)
    right = []
    for act, rows, when in (
        (shop.promote, PROMOTED, "look"),
        (shop.roll_back, FORMER, "commit"),
        (shop.promote, PROMOTED, "commit"),
    ):
        moment = when
        steps.clear()
        live += Counter([shop.live(2), shop.live(5)])
        act()
        right.append(shop.rows() == rows + live)
    return all(right)


def superseded(shop: Shop, patch: Patch) -> bool:
    """A promoter that was stopped before its commit, and continued after a takeover. Whether it changed nothing."""
    with shop.lease("zombie") as lease:
        zombie = shop.promotion(lease)
        history, verdict = zombie._clear()
        taken_over = shop.store.writer.acquire("run1", "successor", LEASE_DURATION, actor="bob", take_over=True)
        take_staging(RunLease(lease.reader, lease.writer, "run1", taken_over.epoch, "bob"), shop.plan, shop.target)
        note = CommitNote("late", Author.PROMOTION, "run1", lease.epoch)
        with suppress(AnabranchError):
            shop.target.promote(history, verdict.keep, zombie.staging, note)
    return shop.rows() == FORMER


def changed_since_validation(shop: Shop, patch: Patch) -> bool:
    """Somebody writes to staging after validation has said yes. Whether that stays out of production."""
    with shop.lease() as lease:
        accepted = shop.promotion(lease)
        shop.write(2, [1], "unseen", branch=accepted.staging.name)
        staging = take_staging(lease, shop.plan, shop.target)
        with suppress(AnabranchError):
            Promotion(lease, shop.target, accepted.approved, staging, frozenset())()
    return shop.rows() == FORMER


def nothing(patch: Patch) -> None:
    """No fault."""


def live_not_kept(patch: Patch) -> None:
    honest = classify_range_commits

    def forgetful(*args: Any, **options: Any) -> ClearToPromote | StagingBehind | BlockedByCommit:
        verdict = honest(*args, **options)
        return ClearToPromote(frozenset()) if isinstance(verdict, ClearToPromote) else verdict

    patch.setattr(promotion, "classify_range_commits", forgetful)


def no_conflict_check(patch: Patch) -> None:
    """What is in the range by the time of the commit is taken out, whoever wrote it."""
    honest = IcebergTarget.promote

    def blind(
        self: IcebergTarget, history: TargetHistory, keep: Collection[str], staging: Staging, note: CommitNote
    ) -> Head:
        now = self.history_since(history.head, staging.partitions)
        return honest(self, replace(history, head=now.head, present=now.present), keep, staging, note)

    patch.setattr(IcebergTarget, "promote", blind)


def no_fence(patch: Patch) -> None:
    honest = require
    patch.setattr(iceberg, "require", lambda tx, refs: honest(tx, {r: s for r, s in refs.items() if r == MAIN}))


def rollback_to_snapshot(patch: Patch) -> None:
    def rollback(self: IcebergTarget, staging: Staging, note: CommitNote) -> Head:
        table = self.load()
        former = table.metadata.refs[before_tag(staging.run)].snapshot_id
        with self.commit(table) as tx:
            point(tx, MAIN, former, SnapshotRefType.BRANCH)
        return head_of(former)

    patch.setattr(IcebergTarget, "rollback", rollback)


def no_look_at_staging(patch: Patch) -> None:
    patch.setattr(Promotion, "_require_unchanged", lambda _self: None)


Scene = Callable[[Shop, Patch], bool]
SCENES: tuple[Scene, ...] = (beside_live, superseded, changed_since_validation)


@pytest.mark.parametrize("scene", SCENES)
def test_with_no_fault_all_is_right(shop: Shop, monkeypatch: Patch, scene: Scene) -> None:
    assert scene(shop, monkeypatch)


@pytest.mark.parametrize(
    ("fault", "scene"),
    [
        (live_not_kept, beside_live),
        (no_conflict_check, beside_live),
        (rollback_to_snapshot, beside_live),
        (no_fence, superseded),
        (no_look_at_staging, changed_since_validation),
    ],
)
def test_a_fault_is_found_by_looking_at_the_rows(
    shop: Shop, monkeypatch: Patch, fault: Callable[[Patch], None], scene: Scene
) -> None:
    fault(monkeypatch)
    assert not scene(shop, monkeypatch)
