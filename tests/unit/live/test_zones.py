"""What live keeps of the zone map: gathered, written now and then, and never in the way of a row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from anabranch.live.zones import FLUSH_OFFSETS, FLUSH_SECONDS, ZoneKeeper
from anabranch.plan.offsets.zone_spans import ZoneSpan
from anabranch.plan.offsets.zones import Zone


def zone(start: int, end: int) -> Zone:
    return Zone(0, start, end, 1, 1, 0, (ZoneSpan(5, 5, 1, start, end),), 1, 1)


@dataclass
class Lake:
    down: bool = False
    written: list[Sequence[Zone]] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    now: float = 0.0

    def write(self, zones: Sequence[Zone]) -> None:
        if self.down:
            raise ConnectionError("the catalog is away")
        self.written.append(zones)

    def keeper(self) -> ZoneKeeper:
        return ZoneKeeper(self.write, self.said.append, lambda: self.now)


def test_small_batches_are_gathered_and_written_together_in_time() -> None:
    lake = Lake()
    keeper = lake.keeper()
    for at in range(0, 50, 10):
        keeper.keep([zone(at, at + 10)])
    assert lake.written == []
    lake.now = FLUSH_SECONDS
    keeper.keep([zone(50, 60)])
    assert [[(z.start, z.end, z.count) for z in each] for each in lake.written] == [[(0, 60, 6)]]
    keeper.flush()
    assert len(lake.written) == 1, "nothing waits any more"


def test_much_is_written_at_once() -> None:
    lake = Lake()
    lake.keeper().keep([zone(0, FLUSH_OFFSETS)])
    assert len(lake.written) == 1


def test_a_lake_that_is_away_is_told_of_and_the_zones_wait() -> None:
    lake = Lake(down=True)
    keeper = lake.keeper()
    keeper.keep([zone(0, 10)])
    keeper.flush()
    assert "ConnectionError: the catalog is away" in lake.said[0]
    lake.down = False
    keeper.keep([zone(10, 20)])
    keeper.flush()
    assert [(z.start, z.end) for z in lake.written[0]] == [(0, 20)]
