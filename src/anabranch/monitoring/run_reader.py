"""Reads the runs of a run store for metrics, and keeps the sums of those whose journal can't have changed since."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from anabranch.contract.price_book import PriceBook
from anabranch.monitoring.noted import MeasuredImpacts, SignalAges
from anabranch.monitoring.run_samples import DatabaseReading, OpenRun
from anabranch.monitoring.tally import Tally, tally_run
from anabranch.monitoring.throttling import Throttling
from anabranch.plan.forecast.cost import Stored
from anabranch.plan.forecast.pricing import price_run
from anabranch.replay.budget_board import BudgetView
from anabranch.runs.lease_holder import is_gone
from anabranch.runs.quotas import is_orphan
from anabranch.runs.run import Run
from anabranch.runs.states import TERMINAL
from anabranch.runs.store import RunReader

_NO_FILES = Stored(0, 0)


@dataclass(frozen=True)
class _Submitted:
    """What does not change of a run."""

    plan: Mapping[str, Any]
    budget: float | None


@dataclass(frozen=True)
class _Sums:
    tally: Tally
    cost_ratio: float | None


class RunMetricsReader:
    """A journal is read again while a process holds the run's lease, and once after: only a holder adds to it, and
    each holder has an epoch of its own."""

    def __init__(self, clock: Callable[[], datetime], prices: Callable[[], PriceBook], cores: int) -> None:
        self._clock = clock
        self._prices = prices
        self._cores = cores
        self._throttling = Throttling()
        self._impacts = MeasuredImpacts()
        self._ages = SignalAges()
        self._submitted: dict[str, _Submitted] = {}
        self._kept: dict[str, tuple[int, _Sums]] = {}
        """By run: the epoch in which its lease was free, and its sums."""

    def empty(self) -> DatabaseReading:
        return DatabaseReading(self._clock())

    def read(self, reader: RunReader, budget: BudgetView | None = None) -> DatabaseReading:
        runs = reader.runs()
        sums = {run.id: self._sums(reader, run) for run in runs}
        records = reader.audit(after=self._throttling.last)
        self._throttling.add(records)
        self._impacts.add(records)
        opened = {run.id: self._opened(reader, run, sums[run.id]) for run in runs if run.state not in TERMINAL}
        now = self._clock()
        expiries = {run: each.lease.expires_at for run, each in opened.items()}
        self._throttling.count_open(now, {run: at for run, at in expiries.items() if at is not None})
        tallies = {run: each.tally for run, each in sums.items()}
        quotas = reader.quotas(only_open=True)
        orphans = sum(is_orphan(each, reader.lease(each.run_id), now, is_gone) for each in quotas)
        values = {each.run_id: each.value for each in quotas if each.value is not None}
        return DatabaseReading(now, runs, tallies, opened, dict(self._throttling.seconds), orphans, values, budget)

    def _opened(self, reader: RunReader, run: Run, sums: _Sums) -> OpenRun:
        pace = reader.pace(run.id)
        return OpenRun(
            reader.lease(run.id),
            pace,
            sums.cost_ratio,
            reader.retention_race(run.id),
            self._impacts.by_run.get(run.id, {}),
            {} if pace is None else self._ages.after(run.id, pace, self._clock()),
        )

    def _sums(self, reader: RunReader, run: Run) -> _Sums:
        epoch, sums = self._kept.get(run.id, (None, None))
        if sums is not None and epoch == run.epoch:
            return sums
        lease = reader.lease(run.id)  # before the journal: what is added afterwards has a later epoch
        journal, submitted = reader.journal(run.id), self._of(reader, run.id)
        tally, ratio = tally_run(journal, submitted.plan, run.epoch), None
        if submitted.budget is not None:
            bill = price_run(self._prices(), journal, tally.bytes, self._cores, _NO_FILES, _NO_FILES)
            ratio = bill.amount / submitted.budget
        sums = _Sums(tally, ratio)
        if lease.holder is None:
            self._kept[run.id] = (lease.epoch, sums)
        return sums

    def _of(self, reader: RunReader, run: str) -> _Submitted:
        if run not in self._submitted:
            documents = reader.documents(run)
            contract: Mapping[str, Any] = documents.contract
            budget = (contract["spec"].get("budget") or {}).get("cost")
            self._submitted[run] = _Submitted({"slices": documents.plan["slices"]}, budget)
        return self._submitted[run]
