"""The brake over a real run store, with the cluster's quotas in memory: what is left when it can't go on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.conformance.run_store.scene import walked_to

from anabranch.adapters.sql.store import SqlRunStore, open_store
from anabranch.plan.quotas import Quota, QuotaEntity
from anabranch.replay.allowance import Allowance
from anabranch.replay.quota_brake import CHECK_SECONDS, QuotaBrake
from anabranch.replay.quota_ports import QuotaRefusedError
from anabranch.replay.quota_steps import CHANGE_SECONDS, WINDOW_SECONDS
from anabranch.runs.quotas import QuotaEnd
from anabranch.runs.run_lease import RunLease
from anabranch.runs.states import State

RUN = "r1"
ENTITY = QuotaEntity("ann", "anabranch-r1")


@dataclass
class MemoryQuotas:
    """A cluster of one broker."""

    values: dict[QuotaEntity, int] = field(default_factory=dict)
    refuses: set[str] = field(default_factory=set)

    def _ask(self, act: str) -> None:
        if act in self.refuses:
            raise QuotaRefusedError(f"This user may not {act} quotas.", state="as before", hint="ask")

    def cluster(self) -> str:
        return "c1"

    def all(self) -> Sequence[Quota]:
        self._ask("read")
        return [Quota(entity, value) for entity, value in self.values.items()]

    def read(self, entity: QuotaEntity) -> int | None:
        self._ask("read")
        return self.values.get(entity)

    def set(self, entity: QuotaEntity, value: int) -> None:
        self._ask("set")
        self.values[entity] = value

    def try_set(self, entity: QuotaEntity, value: int) -> None:
        self._ask("set")

    def remove(self, entity: QuotaEntity) -> None:
        self._ask("remove")
        self.values.pop(entity, None)

    def request_quotas(self) -> Sequence[QuotaEntity]:
        return []

    def leader_bytes(self) -> Mapping[int, int]:
        return {1: 100}


@dataclass
class Scene:
    store: SqlRunStore
    brake: QuotaBrake
    quotas: MemoryQuotas
    notices: list[str]
    time: float = 0.0

    def step(self, rate: int | None, seconds: float) -> None:
        """What the brake's thread does once."""
        self.brake.apply(Allowance("contract", "rate", rate))
        self.time += seconds
        try:
            self.brake.step(self.time)
        except QuotaRefusedError as refused:
            self.brake._give_up(refused.what)


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    with open_store(f"sqlite:///{tmp_path / 'runs.db'}") as store:
        epoch = walked_to(store, State.REPLAYING).epoch
        quotas, notices = MemoryQuotas(), list[str]()
        lease = RunLease(store.reader, store.writer, RUN, epoch, "ada")
        brake = QuotaBrake(lease, quotas, ENTITY, "anabranch-r1", notices.append, lambda: 0.0, lambda: made.time)
        made = Scene(store, brake, quotas, notices)
        made.step(5_000_000, 1)
        made.step(5_000_000, WINDOW_SECONDS)
        assert quotas.values == {ENTITY: 5_000_000}
        yield made


def test_a_quota_that_can_no_longer_follow_is_removed(scene: Scene) -> None:
    scene.quotas.refuses = {"set"}
    scene.step(50_000_000, CHANGE_SECONDS)
    assert scene.quotas.values == {}
    assert scene.notices[-1] == "This user may not set quotas. Only the client limits this replay."
    assert [each.end for each in scene.store.reader.quotas(run_id=RUN)] == [QuotaEnd.REMOVED]


def test_one_that_can_not_be_removed_is_said_to_hold_and_removed_later(scene: Scene) -> None:
    scene.quotas.refuses = {"set", "read"}
    scene.step(50_000_000, CHANGE_SECONDS)
    assert scene.quotas.values == {ENTITY: 5_000_000}
    assert "may hold until it can be removed" in scene.notices[-1]
    scene.quotas.refuses = set()
    scene.time += CHECK_SECONDS
    scene.brake._remove_again(scene.time)
    assert scene.quotas.values == {}
