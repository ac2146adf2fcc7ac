"""What every target owes: one exact effect, nothing of live lost, nothing by a superseded process."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.conformance.target.kinds import Target
from tests.conformance.target.scene import RUN, Scene

from anabranch.plan.slices import Slice
from anabranch.promote.capabilities import HeadCheck, Moves
from anabranch.promote.history import Author
from anabranch.promote.outcome import OutcomeUnknownError
from anabranch.promote.ports import CommitNote, ConcurrentCommitError
from anabranch.promote.promotion import BlockedError, StagingBehindLiveError
from anabranch.replay.ledger import Account
from anabranch.replay.slice_ledger import SliceLedger
from anabranch.replay.staging import take_staging
from anabranch.runs.heads import Head
from anabranch.runs.lease import SupersededError
from anabranch.runs.run_lease import RunLease
from anabranch.runs.states import State


def test_staging_is_not_seen_before_promotion(scene: Scene) -> None:
    assert scene.kind.rows() == scene.kind.former


def test_promotion_and_rollback_give_exact_rows_and_promotion_follows_again(scene: Scene) -> None:
    for _ in range(2):
        scene.promote()
        assert (scene.kind.rows(), scene.state) == (scene.kind.corrected, State.PROMOTED)
        scene.roll_back()
        assert (scene.kind.rows(), scene.state) == (scene.kind.former, State.ROLLED_BACK)
    scene.promote()
    assert scene.kind.rows() == scene.kind.corrected


def test_a_second_call_changes_nothing(scene: Scene) -> None:
    assert scene.promote() == scene.promote()
    assert scene.kind.rows() == scene.kind.corrected
    assert scene.roll_back() == scene.roll_back()
    assert scene.kind.rows() == scene.kind.former


def test_promotion_writes_no_data_file_where_files_are_moved(scene: Scene) -> None:
    before = scene.kind.data_files()
    scene.promote()
    assert scene.kind.target().capabilities.moves is Moves.FILES, "another target asserts here what it moves"
    assert scene.kind.data_files() == before


def test_live_by_other_code_in_the_range_is_detected_and_staged_once(scene: Scene) -> None:
    live = scene.kind.live(code="other-code")
    with pytest.raises(StagingBehindLiveError) as refused:
        scene.promote()
    [(offset, *_)] = live
    assert [dict(each.offsets) for each in refused.value.behind.commits] == [{0: (offset, int(str(offset)) + 1)}]
    assert (scene.kind.rows(), scene.state) == (scene.kind.former + live, State.VALIDATED)
    scene.promote_caught_up()
    assert scene.kind.rows() == scene.kind.corrected + live


def test_live_by_the_plans_code_in_the_range_stays_or_is_staged(scene: Scene) -> None:
    live = scene.kind.live()
    if not scene.kind.keeps_live:
        with pytest.raises(StagingBehindLiveError):
            scene.promote()
        assert scene.kind.rows() == scene.kind.former + live
    scene.promote_caught_up()
    assert scene.kind.rows() == scene.kind.corrected + live


def test_live_beside_the_range_is_kept_by_promotion_and_rollback(scene: Scene) -> None:
    first = scene.kind.live(inside=False)
    scene.promote_caught_up()
    second = scene.kind.live(inside=False)
    assert scene.kind.rows() == scene.kind.corrected + first + second
    scene.roll_back()
    assert scene.kind.rows() == scene.kind.former + first + second


def test_rollback_keeps_what_live_committed_after_the_promotion(scene: Scene) -> None:
    scene.promote()
    live = scene.kind.live() + scene.kind.live()
    scene.roll_back()
    assert scene.kind.rows() == scene.kind.former + live


def test_a_commit_of_unknown_records_in_the_range_blocks(scene: Scene) -> None:
    stranger = scene.kind.stranger()
    with pytest.raises(BlockedError):
        scene.promote()
    assert (scene.kind.rows(), scene.state) == (scene.kind.former + stranger, State.VALIDATED)


def test_a_stale_head_is_refused(scene: Scene) -> None:
    assert scene.kind.target().capabilities.head_check is HeadCheck.EXACT, "another target asserts here what it checks"
    with scene.lease() as lease:
        promotion = scene.promotion(lease)
        plan = scene.kind.plan.target
        history = promotion.target.history_since(plan.base, plan.partitions)
        live = scene.kind.live()
        note = CommitNote("stale", Author.PROMOTION, RUN, lease.epoch)
        with pytest.raises(ConcurrentCommitError):
            promotion.target.promote(history, (), promotion.staging, note)
        assert promotion.target.find_commit("stale") is None
    assert scene.kind.rows() == scene.kind.former + live


def test_history_names_every_commit_since_the_base_in_order(scene: Scene) -> None:
    plan, target = scene.kind.plan.target, scene.kind.target()
    assert target.history_since(plan.base, plan.partitions).commits == ()
    scene.kind.live()
    scene.kind.stranger()
    scene.kind.compact()
    history = target.history_since(plan.base, plan.partitions)
    assert [each.author for each in history.commits] == [Author.LIVE, Author.FOREIGN, Author.REWRITE]
    assert history.head == history.commits[-1].snapshot != plan.base


def test_a_superseded_promoter_changes_nothing_even_if_it_never_asks_the_database(scene: Scene) -> None:
    with scene.lease("zombie") as lease:
        zombie = scene.promotion(lease)
        plan = scene.kind.plan.target
        history = zombie.target.history_since(plan.base, plan.partitions)
        scene.successor(lease)
        note = CommitNote("late", Author.PROMOTION, RUN, lease.epoch)
        with pytest.raises(ConcurrentCommitError):
            zombie.target.promote(history, (), zombie.staging, note)
        with pytest.raises(SupersededError):
            zombie()
    assert scene.kind.rows() == scene.kind.former


@pytest.mark.parametrize("by_rows", [False, True], ids=["by files", "by rows"])
def test_a_superseded_rollback_changes_nothing_even_if_it_never_asks_the_database(scene: Scene, by_rows: bool) -> None:
    scene.promote()
    live = scene.kind.live()
    if by_rows:
        scene.kind.compact()
    with scene.lease("zombie") as lease:
        zombie = scene.rollback(lease)
        scene.successor(lease)
        with pytest.raises(ConcurrentCommitError):
            zombie.target.rollback(zombie.staging, CommitNote("late", Author.ROLLBACK, RUN, lease.epoch))
        with pytest.raises(SupersededError):
            zombie()
    assert scene.kind.rows() == scene.kind.corrected + live


def test_staging_of_an_earlier_epoch_is_handed_over_whole_and_gone(scene: Scene) -> None:
    target = scene.kind.target()
    with scene.lease() as lease:
        mine = take_staging(lease, scene.kind.plan, target)
        assert take_staging(lease, scene.kind.plan, target) == mine, "once it is taken, again is no change"
        [before] = target.stagings(RUN)
        scene.successor(lease)
        [after] = target.stagings(RUN)
        assert (after.head, after.epoch) == (before.head, before.epoch + 1)
        target.hand_over(before, RUN, before.epoch)
        assert target.stagings(RUN) == [after], "what is gone is not made again"
        with pytest.raises(SupersededError):
            take_staging(lease, scene.kind.plan, target)


def test_staging_records_its_slices_and_a_takeover_loses_none(scene: Scene) -> None:
    target, base = scene.kind.target(), scene.kind.plan.staging_base
    ledger = SliceLedger(640, {0: Account(offsets=50, output=50, rows=50)})
    slices = [Slice("s00000", {0: (0, 50)}), Slice("s00001", {0: (50, 100)})]
    with scene.lease() as lease:
        mine = take_staging(lease, scene.kind.plan, target)
        before = target.staging_commits(mine.name, base)
        for each in slices:
            scene.kind.stage_slice(mine, each, ledger)
        staged = target.staged_slices(mine.name, base)
        assert [(s.slice_id, s.epoch, s.offsets, s.ledger) for s in staged] == [
            (s.id, mine.epoch, s.offsets, ledger) for s in slices
        ]
        commits = target.staging_commits(mine.name, base)
        assert [each.slice_id for each in commits] == [None] * len(before) + ["s00000", "s00001"]
        assert commits[-1].head == staged[-1].head == target.stagings(RUN)[-1].head
        scene.successor(lease)
        [place] = target.stagings(RUN)
        assert target.staged_slices(place.name, base) == staged


def test_staging_that_no_epoch_uses_is_removed(scene: Scene) -> None:
    target = scene.kind.target()
    [place] = target.stagings(RUN)
    target.remove_stray(RUN, place.epoch, unused=False)
    assert list(target.stagings(RUN)) == [place], "until a later epoch has its own, it is the run's staging"
    for _ in range(2):
        target.remove_stray(RUN, place.epoch, unused=True)
        assert list(target.stagings(RUN)) == []
    assert scene.kind.rows() == scene.kind.former


def test_removing_the_refs_of_a_run_changes_no_row_of_production(scene: Scene) -> None:
    scene.promote()
    live = scene.kind.live(inside=False)
    for _ in range(2):
        scene.kind.target().remove_refs(RUN)
        assert list(scene.kind.target().stagings(RUN)) == []
        assert scene.kind.rows() == scene.kind.corrected + live
    scene.kind.expire()
    assert scene.kind.rows() == scene.kind.corrected + live


@pytest.mark.parametrize("commits", [True, False], ids=["it took effect", "it did not"])
@pytest.mark.parametrize("step", ["promote", "rollback"])
def test_a_commit_whose_answer_is_lost_is_looked_up_and_has_one_effect(scene: Scene, step: str, commits: bool) -> None:
    if step == "rollback":
        scene.promote()
    target, arm = scene.kind.losing_its_answer(commits=commits)

    def losing(make: Callable[[RunLease, Target], Callable[[], Head]]) -> Head:
        with scene.lease() as lease:
            act = make(lease, target)
            arm()
            return act()

    make, again = (scene.promotion, scene.promote) if step == "promote" else (scene.rollback, scene.roll_back)
    after = scene.kind.corrected if step == "promote" else scene.kind.former
    if commits:
        head = losing(make)
        assert head == again() == target.find_commit(f"{RUN}-{step}-1")
    else:
        before = scene.kind.rows()
        with pytest.raises(OutcomeUnknownError):
            losing(make)
        assert scene.kind.rows() == before
        again()
    assert scene.kind.rows() == after


def test_rollback_after_compaction_restores_the_former_rows_and_keeps_lives(scene: Scene) -> None:
    scene.promote()
    live = scene.kind.live()
    before = scene.kind.rows()
    scene.kind.compact()
    assert scene.kind.rows() == before
    scene.roll_back()
    assert scene.kind.rows() == scene.kind.former + live
    scene.promote_caught_up()
    assert scene.kind.rows() == scene.kind.corrected + live
    scene.roll_back()
    assert scene.kind.rows() == scene.kind.former + live


def test_rollback_after_expiry_of_all_that_is_not_protected(scene: Scene) -> None:
    scene.promote()
    scene.kind.expire()
    assert scene.kind.target().capabilities.former_rows_kept, "another target asserts here that it refuses"
    scene.roll_back()
    assert scene.kind.rows() == scene.kind.former


def test_a_pause_of_live_changes_no_row_and_is_withdrawn_any_number_of_times(scene: Scene) -> None:
    target = scene.kind.target()
    target.release_live_pause(RUN)
    for until in (1, 2):
        target.request_live_pause(RUN, until)
    assert scene.kind.rows() == scene.kind.former
    for _ in range(2):
        target.release_live_pause(RUN)
    scene.promote()
    assert scene.kind.rows() == scene.kind.corrected
