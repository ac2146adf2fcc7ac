"""A process that is killed gives its slot and share back by the database's time, whether it replayed or waited."""

from __future__ import annotations

import subprocess
import sys
from functools import partial

import pytest
from sqlalchemy import URL
from tests.conformance.run_store.scene import hours, leased, submitted
from tests.fixtures.broker import eventually

from anabranch.adapters.sql.budget import SqlBudgetBoard
from anabranch.adapters.sql.store import open_store
from anabranch.replay.budget_board import HEARTBEAT_EXPIRES, Heartbeat
from anabranch.replay.budget_member import BudgetMember, Claim
from anabranch.replay.budget_shares import ReplayBudget

BUDGET = ReplayBudget(1000, 1)
JOIN = """
import sys, time
from anabranch.adapters.sql.budget import SqlBudgetBoard
from anabranch.adapters.sql.store import open_store
from anabranch.replay.budget_board import Heartbeat
from anabranch.replay.budget_member import BudgetMember, Claim
from anabranch.replay.budget_shares import ReplayBudget

url, run, epoch = sys.argv[1], sys.argv[2], int(sys.argv[3])
with open_store(url) as store:
    heartbeat = Heartbeat(run, epoch, "dev", ReplayBudget(1000, 1))
    with BudgetMember(SqlBudgetBoard(store.engine), heartbeat, Claim) as member:
        while True:
            member.allowance()
            time.sleep(0.2)
"""


def _has_joined(board: SqlBudgetBoard, run: str) -> bool:
    return board.view("dev", BUDGET).member(run) is not None


@pytest.mark.long
def test_a_killed_process_gives_back_its_slot_and_a_killed_waiter_its_place(database: URL) -> None:
    url = database.render_as_string(hide_password=False)
    with open_store(database) as store:
        board = SqlBudgetBoard(store.engine)
        epochs = {}
        for number, run in enumerate(("r1", "r2", "r3")):
            submitted(store, run, hours(number, number + 1))
            epochs[run] = leased(store, run).epoch
        others = []
        try:
            for run in ("r1", "r2"):
                others.append(subprocess.Popen([sys.executable, "-c", JOIN, url, run, str(epochs[run])]))
                eventually(partial(_has_joined, board, run))
            with BudgetMember(board, Heartbeat("r3", epochs["r3"], "dev", BUDGET), Claim) as member:
                second = "2nd of 2, waits for run r2; 1 of 1 slots in use"
                eventually(lambda: member.allowance().reason == second)
                for each in others:
                    each.kill()
                eventually(lambda: not member.allowance().paused, seconds=HEARTBEAT_EXPIRES.total_seconds() + 60)
                assert member.allowance().bytes_per_second == 1000
                assert {each.run for each in board.view("dev", BUDGET).members} == {"r3"}
            assert board.view("dev", BUDGET).members == ()
        finally:
            for each in others:
                each.kill()
                each.wait()
