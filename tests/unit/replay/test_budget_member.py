"""One process's part in the budget: what it reads at, what it acknowledges, and that it stops without the database."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from threading import Event

import pytest

from anabranch.errors import AnabranchError
from anabranch.replay.allowance import STANDSTILL, UNLIMITED, Allowance
from anabranch.replay.budget_board import HEARTBEAT_EXPIRES, BudgetView, Heartbeat
from anabranch.replay.budget_member import GRACE_SECONDS, BudgetMember, Claim
from anabranch.replay.budget_shares import Member, ReplayBudget, divide

NOW = datetime(2025, 6, 1, tzinfo=timezone.utc)
BUDGET = ReplayBudget(1000, 1)


class SilentError(AnabranchError):
    code = "test.silent"


@dataclass
class MemoryBoard:
    """The board as a dictionary: the division is the real one."""

    members: dict[str, Member] = field(default_factory=dict)
    beats: list[Heartbeat] = field(default_factory=list)
    silent: bool = False

    def beat(self, heartbeat: Heartbeat) -> BudgetView:
        if self.silent:
            raise SilentError("no answer", state="as before", hint="wait")
        self.beats.append(heartbeat)
        known = self.members.get(heartbeat.run, Member(heartbeat.run, heartbeat.joined or NOW))
        self.members[heartbeat.run] = replace(
            known, cap=heartbeat.cap, wants=heartbeat.wants, exempt=heartbeat.exempt, held=heartbeat.held
        )
        members = divide(BUDGET, list(self.members.values()), NOW)
        self.members = {each.run: each for each in members}
        return BudgetView(NOW, BUDGET, members)

    def leave(self, run_id: str, epoch: int) -> None:
        self.members.pop(run_id, None)

    def view(self, context: str, configured: ReplayBudget) -> BudgetView:
        raise NotImplementedError

    def set_priority(self, run_id: str, priority: int, *, actor: str) -> None:
        raise NotImplementedError


@dataclass
class Scene:
    board: MemoryBoard = field(default_factory=MemoryBoard)
    claim: Claim = field(default_factory=Claim)
    time: float = 100.0

    def member(self, run: str = "a") -> BudgetMember:
        beat = Heartbeat(run, 1, "dev", BUDGET)
        return BudgetMember(self.board, beat, lambda: self.claim, lambda: self.time)


@dataclass
class Holding:
    """Another source of limits."""

    now: Allowance

    def allowance(self) -> Allowance:
        return self.now


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_before_the_first_heartbeat_nothing_is_read(scene: Scene) -> None:
    held = scene.member().allowance()
    assert (held.paused, held.bytes_per_second) == (True, STANDSTILL)


def test_an_admitted_run_reads_at_its_share(scene: Scene) -> None:
    member = scene.member()
    member.beat()
    allowance = member.allowance()
    assert (allowance.source, allowance.bytes_per_second, allowance.paused) == ("budget", 1000, False)


def test_a_run_in_the_queue_reads_nothing_and_says_why(scene: Scene) -> None:
    scene.member("a").beat()
    second = scene.member("b")
    second.beat()
    waits = second.allowance()
    assert (waits.paused, waits.bytes_per_second) == (True, STANDSTILL)
    assert waits.reason == "1st of 1, waits for run a; 1 of 1 slots in use"


def test_a_silent_database_stops_the_reading_before_the_share_goes_to_others(scene: Scene) -> None:
    member = scene.member()
    member.beat()
    scene.board.silent = True
    scene.time += GRACE_SECONDS
    with pytest.raises(SilentError):
        member.beat()
    assert member.allowance().bytes_per_second == 1000, "for a short time the last share holds"
    scene.time += 1
    stopped = member.allowance()
    assert (stopped.paused, stopped.bytes_per_second) == (True, STANDSTILL)
    assert "has not confirmed the share for 9 s" in stopped.reason
    assert HEARTBEAT_EXPIRES.total_seconds() >= 2 * GRACE_SECONDS, "by the time others have it, this one has stopped"


def test_a_smaller_share_is_acknowledged_only_when_it_was_applied(scene: Scene) -> None:
    """The replayer applies what `allowance` returned, and asks again after that."""
    member = scene.member()
    member.beat()
    assert member.allowance().bytes_per_second == 1000
    scene.claim = Claim(cap=400)
    member.beat()
    member.beat()
    assert scene.board.beats[-1].held == 1000, "the replayer has not asked since"
    assert member.allowance().bytes_per_second == 400
    member.beat()
    assert scene.board.beats[-1].held == 1000, "it has been told, and may not have applied it"
    member.allowance()
    member.beat()
    assert scene.board.beats[-1].held == 400


def test_after_an_exemption_nothing_is_read_until_a_share_is_granted(scene: Scene) -> None:
    scene.claim = Claim(exempt=True)
    member = scene.member()
    member.beat()
    assert member.allowance().bytes_per_second is None
    scene.claim = Claim()
    scene.board.silent = True
    with pytest.raises(SilentError):
        member.beat()
    assert member.allowance().bytes_per_second == STANDSTILL
    scene.board.silent = False
    member.beat()
    assert scene.board.beats[-1].held == BUDGET.bytes_per_second, "what it read at before is still held"
    member.allowance()
    member.beat()
    member.beat()
    assert member.allowance().bytes_per_second == 1000


def test_a_run_rejoins_with_the_age_it_had(scene: Scene) -> None:
    member = scene.member()
    member.beat()
    scene.board.members.clear()
    member.beat()
    assert scene.board.beats[-1].joined == NOW


def test_a_run_takes_no_slot_while_something_else_holds_it_and_keeps_the_one_it_has(scene: Scene) -> None:
    hours = Holding(Allowance("schedule", "outside the contract's hours", paused=True))
    early = BudgetMember(scene.board, Heartbeat("a", 1, "dev", BUDGET), Claim, lambda: scene.time, (hours,))
    early.beat()
    early.beat()
    other = scene.member("b")
    other.beat()
    assert not other.allowance().paused, "the only slot is free"
    held = early.allowance()
    assert (held.source, held.reason) == ("schedule", "outside the contract's hours")
    assert held.stands_still
    scene.board.leave("b", 1)
    hours.now = UNLIMITED
    early.beat()
    assert not early.allowance().paused
    hours.now = Allowance("schedule", "outside the contract's hours", paused=True)
    early.beat()
    early.beat()
    assert not early.allowance().paused, "a slice may be in flight"


def test_heartbeats_go_on_after_an_unexpected_error(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("anabranch.replay.budget_member.BEAT_SECONDS", 0.01)
    claims: list[Claim] = []

    def claim() -> Claim:
        claims.append(Claim())
        if len(claims) == 1:
            raise KeyError("state")
        return claims[-1]

    admitted = Event()
    with BudgetMember(scene.board, Heartbeat("a", 1, "dev", BUDGET), claim, lambda: scene.time) as member:
        for _ in range(1000):
            if not member.allowance().paused or admitted.wait(0.01):
                break
        assert member.allowance().bytes_per_second == 1000


def test_leaving_gives_slot_and_share_back(scene: Scene) -> None:
    with scene.member() as member:
        member.beat()
        with member:
            assert set(scene.board.members) == {"a"}
        assert set(scene.board.members) == {"a"}, "it was entered twice"
    assert scene.board.members == {}
