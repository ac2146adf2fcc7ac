"""The life of one run whose driver is killed at every named point and at random; and what was seen on the way."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random
from typing import Any

from tests.crash import groups
from tests.crash.checker import Comparison, fate_of
from tests.crash.shop import BEGINNING, BUGGY, FORFEIT, RANGE, SPAN, Shop
from tests.fixtures.properties import examples

CONTRACT = "contracts/fix-currency.yaml"
REPLAYS_KILLED = examples(usual=1, soak=40)
"""Replays killed at random, their JVM too every other time."""
ROUNDS = examples(usual=1, soak=200)
"""Rollbacks and promotions killed at random."""
SLICES = 8 + 2 * (REPLAYS_KILLED - 1)
LATE = (RANGE[0] + timedelta(minutes=15), timedelta(minutes=30))
"""Orders that come in long after they were placed: inside the range."""
NEW = (BEGINNING + SPAN, timedelta(minutes=30))

PATIENCE = examples(usual=1800, soak=4 * 3600)
"""Seconds for all of it, on a machine that has other things to do."""

Aimed = tuple[str, str]
"""A crash point, and the state in which the run must be found afterwards."""

BEFORE_SPARK: tuple[Aimed, ...] = (
    ("lease.before", "planned"),
    ("lease.after", "planned"),
    ("journal.before", "planned"),
    ("journal.after", "planned"),
    ("branch.before", "planned"),
    ("branch.after", "planned"),
)
ON_SPARK: tuple[Aimed, ...] = (
    ("slice.write.before", "replaying"),
    ("slice.write.after:2", "replaying"),
    ("slice.commit.before", "replaying"),
    ("slice.commit.after:3", "replaying"),
)
VALIDATING: tuple[Aimed, ...] = (("validate.before", "staged"), ("validate.after", "staged"))
PROMOTING_BEHIND: tuple[Aimed, ...] = (
    ("slice.commit.after", "replaying"),
    ("promote.commit.before", "promoting"),
)
PROMOTING: tuple[Aimed, ...] = (
    ("journal.after", "validated"),
    ("promote.commit.before", "promoting"),
    ("promote.commit.after", "promoting"),
)
ROLLING_BACK: tuple[Aimed, ...] = (
    ("journal.before", "promoted"),
    ("rollback.commit.before", "rolling_back"),
    ("rollback.commit.after", "rolling_back"),
)
PROMOTING_AGAIN: tuple[Aimed, ...] = (("promote.commit.after", "promoting"),)
CLOSING: tuple[Aimed, ...] = (("journal.after", "promoted"), ("close.before", "closing"), ("close.after", "closing"))


@dataclass(frozen=True)
class Kill:
    command: str
    point: str
    """A crash point, or `random`."""
    code: int
    state: str
    expected: str | None
    """The state that must be found; None if it depends on the moment."""


@dataclass
class Story:
    shop: Shop
    events: int
    rng: Random
    kills: list[Kill] = field(default_factory=list)
    compared: dict[str, Comparison] = field(default_factory=dict)
    slices: list[str] = field(default_factory=list)
    """Of the branch's history after the replay, in the order of their commits."""
    groups: tuple[Any, Any] = ({}, {})
    """What the broker remembered of groups before planning and after closing."""
    refs: dict[str, int] = field(default_factory=dict)
    again: int = -1
    """How closing once more ended."""

    def __call__(self) -> Story:
        shop, kafka = self.shop, self.shop.kafka
        self._a_wrong_table()
        with ExitStack() as bystanders:
            for name in (shop.group, "bystander-away"):
                groups.commit(kafka, name, shop.topic, 42)
            bystanders.enter_context(groups.member(kafka, "bystander-there", shop.topic))
            before = groups.memory(kafka)
            self._replay()
            self._promote_roll_back_promote()
            self._close()
            self.groups = (before, groups.memory(kafka))
        return self

    def _a_wrong_table(self) -> None:
        for share in (0.6, 0.4):
            part = SPAN * share
            beginning = BEGINNING if share == 0.6 else BEGINNING + SPAN * 0.6
            self.shop.live(self.shop.sell(round(self.events * share), beginning, part), BUGGY)

    def _replay(self) -> None:
        shop, size = self.shop, -(-self.events // SLICES)
        shop.do("plan", "-f", CONTRACT, "--slice-size", str(size), "--out", "plan.json")
        self._aim(("apply", "plan.json"), BEFORE_SPARK)
        shop.live(shop.sell(300, *LATE), shop.plan["code"])
        apply = ("apply", "-f", CONTRACT)
        self._aim(apply, ON_SPARK)
        for number in range(REPLAYS_KILLED):
            self._at_random(apply, "slice s", "validating", spread=1.5, group=number % 2 == 0)
        self._aim(apply, VALIDATING)
        shop.do(*apply)
        self.compared["replayed"] = shop.compare(promoted=False)
        [branch] = [ref for ref in shop.refs if ref != "main"]
        self.slices = [said["anabranch.slice"] for said in shop.said(branch) if "anabranch.slice" in said][::-1]

    def _promote_roll_back_promote(self) -> None:
        shop = self.shop
        promote, rollback = ("promote", "last", "--yes"), ("rollback", "last", "--yes")
        shop.live(shop.sell(300, *LATE), BUGGY)
        shop.live(shop.sell(300, *NEW), BUGGY)
        self._aim(promote, PROMOTING_BEHIND)
        self._aim(promote, PROMOTING)
        shop.live(shop.sell(300, *LATE), shop.plan["code"])
        shop.do(*promote)
        self.compared["promoted"] = shop.compare(promoted=True)
        shop.live(shop.sell(300, *LATE), shop.plan["code"])
        shop.live(shop.sell(300, *NEW), shop.plan["code"])
        self._aim(rollback, ROLLING_BACK)
        shop.do(*rollback)
        self.compared["rolled back"] = shop.compare(promoted=False)
        self._aim(promote, PROMOTING_AGAIN)
        shop.do(*promote)
        for _ in range(ROUNDS):
            for command in (rollback, promote):
                self._at_random(command, spread=3)
                shop.do(*command)
        self.compared["promoted again"] = shop.compare(promoted=True)

    def _close(self) -> None:
        close = ("close", "last", "--yes", *FORFEIT)
        self._aim(close, CLOSING)
        self.shop.do(*close)
        self.refs = self.shop.refs
        self.again = self.shop.start(*close).wait().code
        self.compared["closed"] = self.shop.compare(promoted=True)

    def _aim(self, command: tuple[str, ...], points: tuple[Aimed, ...]) -> None:
        """Kill the command at each point in turn, each time started again. A point that is not reached is no kill."""
        for point, state in points:
            ended = self.shop.start(*command, ANABRANCH_CRASH_AT=point).wait()
            assert ended.code == -signal.SIGKILL, f"{command} at {point} ended with {ended.code}: {ended.err}"
            self.kills.append(Kill(command[0], point, ended.code, self.shop.state, state))

    def _at_random(self, command: tuple[str, ...], *words: str, spread: float, group: bool = False) -> None:
        """Kill the command within `spread` seconds of its saying one of the words; its JVM too, if `group`.

        A command that was faster has done its work, and is not counted.
        """
        process = self.shop.start(*command)
        if words:
            process.await_said(*words)
        time.sleep(self.rng.uniform(0, spread))
        process.signal(signal.SIGKILL, group=group)
        ended = process.wait()
        if ended.code == 0:
            return
        assert ended.code == -signal.SIGKILL, f"{command} ended with {ended.code}: {ended.err}"
        self.kills.append(Kill(command[0], "random", ended.code, self.shop.state, None))

    def fates(self) -> dict[str, int]:
        """What must have become of the offsets that were replayed, counted by hand."""
        replayed = self._replayed()
        counts = dict.fromkeys(("output", "filtered", "out_of_range", "quarantined"), 0)
        for record in self.shop.records():
            if any(start <= record.offset < end for start, end in replayed[record.partition]):
                counts[fate_of(record, *RANGE)] += 1
        return counts

    def _replayed(self) -> dict[int, list[tuple[int, int]]]:
        """The plan's offsets, and those of live's commit by the wrong code into the range."""
        pieces: dict[int, list[tuple[int, int]]] = {}
        for offsets in self._replayed_offsets():
            for partition, (start, end) in offsets.items():
                pieces.setdefault(int(partition), []).append((start, end))
        return pieces

    def _replayed_offsets(self) -> Iterator[dict[str, list[int]]]:
        for partition, ranges in self.shop.closure["offsets"].items():
            yield from ({partition: each} for each in ranges)
        for said in self.shop.said("main"):
            if said.get("anabranch.batch") == "3":
                yield json.loads(said["anabranch.offsets"])
