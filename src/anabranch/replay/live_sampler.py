"""Observes live while a replay runs, by repeated looks at the log, the group, the table and the driver's files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import Lock

from anabranch.errors import AnabranchError, text_of
from anabranch.replay.live_signals import LiveSignals
from anabranch.replay.live_sources import STOPPED, CommitSource, DriverSource, LiveDriver, OffsetSource
from anabranch.replay.log_history import LogHistory

SIGNALS_EVERY = 2
"""The log's ends are looked at each time, the rest at every second look."""
TABLE_SHARE = 20
"""Loading a table with a long history takes time: it is loaded again after 20 times as long."""
MEMBERS_SECONDS = 10.0
RECENT = 1.5
"""Live whose last commit is younger than this many of its usual gaps between two is taken to run."""


@dataclass
class LiveSampler:
    """A LiveMonitor. `sample` is called by its thread; `read` by anyone."""

    offsets: OffsetSource
    commits: CommitSource
    files: DriverSource
    expected: bool
    """Whether a live writer is expected: the contract does not say `live: none`."""
    clock: Callable[[], float]
    """Seconds that only grow."""
    wall: Callable[[], float]
    """Seconds since 1970."""
    brokers: Callable[[], tuple[Mapping[str, float], Mapping[str, str]]] = lambda: ({}, {})
    log: LogHistory = field(default_factory=LogHistory)

    def __post_init__(self) -> None:
        self._lock = Lock()
        self._signals = LiveSignals(at=self.clock(), live_runs=False, live_words="live was not observed yet")
        self._looks = 0
        self._group: dict[int, int] = {}
        self._position: dict[int, int] = {}
        self._moved: float | None = None
        self._table_looked: float | None = None
        self._table_due = 0.0
        self._table_silent: str | None = None
        self._members, self._members_due = 0, 0.0
        self._driver: LiveDriver | None = None
        self._was_running = False
        self._batch = -1

    def read(self) -> LiveSignals:
        with self._lock:
            return self._signals

    def sample(self) -> None:
        """One look. Raises nothing: after an unexpected error the signals of this look are lost, with the reason."""
        try:
            self._sample()
        except Exception as error:
            reason = f"Internal error: {type(error).__name__}: {text_of(error)}."
            with self._lock:
                self._signals = LiveSignals(
                    at=self.clock(),
                    silent={"live": reason},
                    live_runs=self._was_running,
                    live_words=f"live can't be observed: {reason}",
                )

    def _sample(self) -> None:
        now, silent = self.clock(), dict[str, str]()
        try:
            self.log.look(now, self.offsets.log_ends())
        except AnabranchError as error:
            silent["log"] = error.what
        self._looks += 1
        if not silent and self._looks % SIGNALS_EVERY != 1:
            return
        signals = self._observe(now, silent)
        with self._lock:
            self._signals = signals

    def _observe(self, now: float, silent: dict[str, str]) -> LiveSignals:
        latencies = self._look_at_group(now, silent)
        by_table = self._look_at_table(now, silent)
        # Commits to the table say more than the group, which may be committed later or not at all.
        latencies = by_table if self.commits.position else latencies
        ratio, errors = self._look_at_driver(silent)
        brokers, unread = self.brokers()
        silent.update({f"broker {name}": reason for name, reason in unread.items()})
        runs, words = self._runs(now)
        known = "log" not in silent and bool(self._position)
        if not self._position and not silent and self.expected:
            silent["lag"] = f"group {self.offsets.group} has committed nothing, and no snapshot records live's offsets"
        return LiveSignals(
            at=now,
            lag_records=self.log.lag(self._position) if known else None,
            lag_seconds=self.log.lag_seconds(self._position, now) if known else None,
            latencies=None if latencies is None else tuple(latencies),
            batch_ratio=ratio,
            errors=errors,
            brokers=brokers,
            silent=silent,
            live_runs=runs or (bool(silent) and self._was_running),
            live_words=words,
        )

    def _look_at_group(self, now: float, silent: dict[str, str]) -> list[float] | None:
        """The latencies of what the group has committed since the look before."""
        try:
            offsets = self.offsets.group_offsets()
            if now >= self._members_due:
                self._members, self._members_due = self.offsets.members(), now + MEMBERS_SECONDS
        except AnabranchError as error:
            silent["group"] = error.what
            return None
        found: list[float] = []
        for partition, end in offsets.items():
            before = self._group.get(partition)
            if before is not None and end > before:
                found += self.log.latencies(partition, before, end, now)
        self._group = dict(offsets)
        self._move_to(offsets, now)
        return found if offsets else None

    def _look_at_table(self, now: float, silent: dict[str, str]) -> list[float] | None:
        if now < self._table_due:
            if self._table_silent is not None:
                silent["table"] = self._table_silent
            return []
        before, started = self._table_looked, self.clock()
        try:
            commits = self.commits.look()
        except Exception as error:  # whatever the catalog's client raises, the table could not be read
            silent["table"] = self._table_silent = str(error) or type(error).__name__
            return None
        done = self.clock()
        self._table_looked, self._table_silent = done, None
        self._table_due = done + TABLE_SHARE * (done - started)
        self._move_to(self.commits.position, done)
        if before is None:
            return []
        found: list[float] = []
        for commit in commits:
            # By the writer's clock, within the two looks between which it was seen to appear.
            at = min(done, max(before, done - (self.wall() - commit.at)))
            for partition, (start, end) in commit.offsets.items():
                found += self.log.latencies(partition, start, end, at)
        return found

    def _move_to(self, position: Mapping[int, int], now: float) -> None:
        """Live stands where the group or the table is further: one of the two may be of a former live."""
        for partition, offset in position.items():
            before = self._position.get(partition)
            if before is not None and offset > before:
                self._moved = now
            self._position[partition] = max(offset, before or 0)

    def _look_at_driver(self, silent: dict[str, str]) -> tuple[float | None, int | None]:
        try:
            driver = self.files.driver()
        except AnabranchError as error:
            silent["driver"] = error.what
            return None, None
        former, self._driver = self._driver, driver
        if driver is None:
            return None, None
        died = former is not None and former.runs and not driver.runs and driver.ended != STOPPED
        known = set(former.silent) if former is not None else set(driver.silent)
        errors = int(died) + len(set(driver.silent) - known)
        new = [each for each in driver.batches if each.number > self._batch and each.ratio is not None]
        self._batch = max((each.number for each in driver.batches), default=self._batch)
        ratios = [each.ratio for each in new if each.ratio is not None]
        return (max(ratios) if ratios and former is not None else None), errors

    def _runs(self, now: float) -> tuple[bool, str]:
        """Whether anything shows that live runs, and what."""
        if self._driver is not None and self._driver.runs:
            return self._seen("its driver runs on this machine")
        if self._moved is not None and not (self._driver is not None and self._driver.ended == STOPPED):
            waits = bool(self.log.lag(self._position))
            if waits or now - self._moved < max(60.0, 3 * (self.commits.gap or 0.0)):
                return self._seen(f"live committed {now - self._moved:.0f} s ago")
        if self._members:
            return self._seen(f"group {self.offsets.group} has {self._members} members")
        if self._driver is not None and self._was_running and self._driver.ended != STOPPED:
            return True, "live's driver ended without being stopped"
        if self._driver is None and self._is_due():
            return self._seen("live's last commit is younger than it usually takes to the next")
        return False, (
            f"no live is seen to run: group {self.offsets.group} has no member, and neither group nor table were "
            "committed to since the replay began"
        )

    def _seen(self, words: str) -> tuple[bool, str]:
        self._was_running = True
        return True, words

    def _is_due(self) -> bool:
        last, gap = self.commits.last, self.commits.gap
        return last is not None and gap is not None and self.wall() - last < RECENT * gap
