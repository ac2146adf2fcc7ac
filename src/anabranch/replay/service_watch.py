"""Probes the services that a replay or live needs, beside the work, and reports those that do not answer."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from threading import Condition, Event, Thread
from types import TracebackType

from anabranch.errors import AnabranchError, ExitCode
from anabranch.project.quantities import roughly
from anabranch.replay.outages import PATIENCE, Notice, Outages, Silence

EVERY_SECONDS = 5.0
TICK_SECONDS = 0.5


class OutageError(AnabranchError):
    """A service was silent for longer than the limit, and the run was paused for it."""

    code = "replay.service-outage"
    exit_code = ExitCode.TIMED_OUT

    def __init__(self, run: str, over: Silence, now: datetime) -> None:
        self.over = over
        super().__init__(
            f"{over.service} has not answered since {over.since:%Y-%m-%d %H:%M:%S} UTC "
            f"({roughly(now - over.since)}): run {run} is paused.",
            state="Production is unchanged. Slices that were committed to staging stay there.",
            command=f"anabranch retry {run}",
            service=over.service,
            since=over.since.isoformat(),
        )

    @property
    def on_record(self) -> dict[str, object]:
        return {"reason": "outage", "service": self.over.service, "since": self.over.since.isoformat()}


@dataclass
class _Probe:
    ask: Callable[[], bool]
    begun: datetime
    answered: bool | None = None
    """None while it goes on."""
    number: int = 0
    """How many probes have begun."""


class ServiceWatch:
    """A context: while it lasts, one thread for each service probes it and one more reports.

    `probes` return whether the service answered, by its name; a probe that hangs counts as no answer. `report` is given
    each notice. `at_limit` is called again and again while a service is silent for longer than `limit`.
    """

    def __init__(
        self,
        probes: Mapping[str, Callable[[], bool]],
        limit: timedelta | None,
        report: Callable[[Notice], None],
        at_limit: Callable[[], None] = lambda: None,
        every: float = EVERY_SECONDS,
    ) -> None:
        self._outages = Outages(limit)
        self._probes = {name: _Probe(ask, _now(), answered=True) for name, ask in probes.items()}
        self._report, self._at_limit, self._every = report, at_limit, every
        self._stop, self._changed = Event(), Condition()
        self._last_silent = 0.0
        self._hurry = {name: Event() for name in probes}

    def __enter__(self) -> ServiceWatch:
        for name in self._probes:
            Thread(target=self._ask, args=(name,), daemon=True, name=f"probe {name}").start()
        self._reporter = Thread(target=self._look, daemon=True, name="services")
        self._reporter.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._stop.set()
        for each in self._hurry.values():
            each.set()
        self._reporter.join()

    def mark(self) -> float:
        """A moment, to ask later whether a service was silent since."""
        return time.monotonic()

    def silent_since(self, mark: float) -> bool:
        """Whether a service is silent now or was at some time after `mark`. Probes once more to know."""
        asked = {name: probe.number for name, probe in self._probes.items()}
        for each in self._hurry.values():
            each.set()
        with self._changed:
            self._changed.wait_for(
                lambda: all(
                    (probe.number > asked[name] and probe.answered is not None) or self._is_silent(name)
                    for name, probe in self._probes.items()
                ),
                timeout=2 * PATIENCE.total_seconds() + self._every,
            )
        self._observe()
        return bool(self._outages.silent) or self._last_silent >= mark

    def await_answers(self, run: str) -> None:
        """Wait until every service answers; OutageError once one of them is over the limit."""
        while self._outages.silent:
            over = self._outages.over_limit(_now())
            if over is not None:
                raise OutageError(run, over, _now())
            time.sleep(TICK_SECONDS)

    def _is_silent(self, name: str) -> bool:
        return any(each.service == name for each in self._outages.silent)

    def _ask(self, name: str) -> None:
        probe, hurry = self._probes[name], self._hurry[name]
        while not self._stop.is_set():
            hurry.clear()
            with self._changed:
                probe.begun, probe.answered, probe.number = _now(), None, probe.number + 1
            try:
                answered = probe.ask()
            except Exception:
                answered = False
            with self._changed:
                probe.answered = answered
                self._changed.notify_all()
            hurry.wait(self._every)

    def _look(self) -> None:
        while not self._stop.wait(TICK_SECONDS):
            self._observe()
            if self._outages.over_limit(_now()) is not None:
                self._at_limit()

    def _observe(self) -> None:
        notices = []
        with self._changed:
            for name, probe in self._probes.items():
                notice = self._outages.observe(name, probe.begun, probe.answered, _now())
                if notice is not None:
                    notices.append(notice)
            if self._outages.silent:
                self._last_silent = time.monotonic()
            self._changed.notify_all()
        for notice in notices:
            self._report(notice)


def no_services() -> ServiceWatch:
    """Nothing to watch, as where a replay reads no service of its own."""
    return ServiceWatch({}, None, lambda _notice: None)


def _now() -> datetime:
    return datetime.now(timezone.utc)
