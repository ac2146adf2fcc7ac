"""`pause --all` on both databases: one switch for each context, on record."""

from __future__ import annotations

import pytest
from tests.conformance.run_store.scene import MIDNIGHT, HandClock

from anabranch.adapters.sql.pause_switch import SqlPauseSwitch
from anabranch.adapters.sql.store import SqlRunStore
from anabranch.replay.pause_all import AllPaused, pause_all_source


@pytest.fixture
def switch(store: SqlRunStore, clock: HandClock) -> SqlPauseSwitch:
    return SqlPauseSwitch(store.engine, clock)


def test_a_pause_holds_its_context_until_it_is_lifted_and_both_are_on_record(
    store: SqlRunStore, switch: SqlPauseSwitch
) -> None:
    assert switch.read("prod") is None
    switch.pause("prod", actor="bob", reason="sale")
    switch.pause("prod", actor="ann", reason="sale goes on")
    assert switch.read("prod") == AllPaused("ann", "sale goes on", MIDNIGHT)
    assert switch.read("dev") is None
    assert switch.resume("prod", actor="bob", reason="over")
    assert switch.read("prod") is None
    assert not switch.resume("prod", actor="bob", reason="again")
    actions = [(each.action, each.actor) for each in store.reader.audit()]
    assert actions == [
        ("pause.all", "bob"),
        ("pause.all", "ann"),
        ("pause.all-lifted", "bob"),
        ("pause.all-lifted", "bob"),
    ]


def test_no_slice_begins_while_all_are_paused(switch: SqlPauseSwitch) -> None:
    source = pause_all_source(switch, "prod")
    source.ask()
    assert not source.allowance().paused
    switch.pause("prod", actor="bob", reason="sale")
    source.ask()
    held = source.allowance()
    assert (held.paused, held.reason) == (True, "all replays paused by bob since 2025-06-01T00:00:00Z: sale")
