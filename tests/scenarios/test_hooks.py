"""Hooks and `pause --all` around a whole backfill: what fails before a step stops it, and what follows is told how."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Thread

import pytest

from anabranch.app.replay_holds import pause_switch
from anabranch.replay.replayer import ReplayEnd
from anabranch.runs.hooks import HOOK_RUN, HookFailedError
from anabranch.runs.states import State
from tests.scenarios.backfills import NOW, Onlooker, edit
from tests.scenarios.shop import Shop, hours
from tests.scenarios.test_rate_limit import replay

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

SCRIPT = """#!/bin/sh
echo "$ANABRANCH_HOOK ${ANABRANCH_OUTCOME:-}" >> told
test ! -e "refuse-$ANABRANCH_HOOK"
"""
HOOKS = "{beforeReplay: [./h], afterReplay: [./h], beforePromote: [./h], afterPromote: [./h], afterClose: [./h]}"


def with_hooks(shop: Shop) -> Path:
    folder = shop.project_context.folder
    script = folder / "h"
    script.write_text(SCRIPT)
    script.chmod(0o755)
    edit(folder / "anabranch.yaml", {"spark:": f"hooks: {HOOKS}\n      spark:"})
    return folder


def test_hooks_run_around_the_steps_and_stop_those_they_fail_before(new_shop: Callable[..., Shop]) -> None:
    shop = new_shop()
    shop.produce(hours())
    shop.live()
    folder = with_hooks(shop)
    before = shop.rows()
    run = shop.plan()
    refusal = folder / "refuse-beforeReplay"
    refusal.touch()
    with pytest.raises(HookFailedError):
        replay(run, Onlooker())
    assert run.run.state is State.PLANNED
    assert not run.target.stagings(run.run_id)
    refusal.unlink()
    shop.apply(run)
    refusal = folder / "refuse-beforePromote"
    refusal.touch()
    with pytest.raises(HookFailedError):
        shop.promote(run)
    assert shop.rows() == before
    refusal.unlink()
    shop.promote(run)
    assert shop.rows() != before
    with run.lease() as lease:
        run.close(lease, NOW, forfeit="the test is over")
    assert (folder / "told").read_text().splitlines() == [
        "beforeReplay ",
        "afterReplay failed",
        "beforeReplay ",
        "afterReplay staged",
        "beforePromote ",
        "afterPromote failed",
        "beforePromote ",
        "afterPromote promoted",
        "afterClose closed",
    ]
    assert len(shop.store.reader.audit(run_id=run.run_id, action=HOOK_RUN)) == 9


def test_no_replay_starts_while_all_are_paused(new_shop: Callable[..., Shop]) -> None:
    shop = new_shop()
    shop.produce(hours())
    shop.live()
    run = shop.plan()
    switch = pause_switch(shop.store)
    switch.pause("dev", actor="bob", reason="sale")
    seen: list[str] = []

    class Waiting(Onlooker):
        def resting(self, seconds: float, reason: str) -> None:
            seen.append(reason)
            if len(seen) == 2:
                assert not run.target.stagings(run.run_id)
                Thread(target=lambda: switch.resume("dev", actor="bob", reason="over")).start()

    assert replay(run, Waiting()) is ReplayEnd.STAGED
    assert len(seen) >= 2
    assert all("all replays paused by bob" in each and each.endswith(": sale") for each in seen)
