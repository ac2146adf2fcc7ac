"""Probes beside the work: noticed, waited for, and given up at the limit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from threading import Event

import pytest
from tests.fixtures.broker import eventually

from anabranch.replay.outages import Answers, Notice, Silent
from anabranch.replay.service_watch import OutageError, ServiceWatch

HOUR = timedelta(hours=1)


@dataclass
class Switch:
    """A service that can be switched off, and the notices about it."""

    on: bool = True
    notices: list[Notice] = field(default_factory=list)
    cancelled: Event = field(default_factory=Event)

    def watch(self, limit: timedelta = HOUR, ask: Callable[[], bool] | None = None) -> ServiceWatch:
        return ServiceWatch(
            {"Kafka": ask or (lambda: self.on), "Catalog": lambda: True},
            limit,
            self.notices.append,
            self.cancelled.set,
            every=0.02,
        )

    def kinds(self) -> list[type[Notice]]:
        return [type(each) for each in self.notices]


def test_while_all_answer_a_failure_is_nobody_s_silence() -> None:
    service = Switch()
    with service.watch() as watch:
        mark = watch.mark()
        assert not watch.silent_since(mark)
    assert service.notices == []


def test_a_failure_is_an_outage_though_no_probe_had_noticed_it_yet() -> None:
    service = Switch()
    with service.watch() as watch:
        mark = watch.mark()
        service.on = False
        assert watch.silent_since(mark)
        assert service.kinds() == [Silent]


def test_an_outage_that_is_over_counts_for_work_that_began_before_it_and_for_no_other() -> None:
    service = Switch()
    with service.watch() as watch:
        before = watch.mark()
        service.on = False
        assert watch.silent_since(before)
        service.on = True
        eventually(lambda: service.kinds() == [Silent, Answers])
        assert watch.silent_since(before)
        assert not watch.silent_since(watch.mark())
        watch.await_answers("r1")


def test_a_probe_that_raises_is_no_answer() -> None:
    service = Switch()

    def refuse() -> bool:
        raise OSError("no route to host")

    with service.watch(ask=refuse) as watch:
        assert watch.silent_since(watch.mark())


def test_at_the_limit_the_work_is_cancelled_and_waiting_ends_with_the_service_s_name() -> None:
    service = Switch(on=False)
    with service.watch(limit=timedelta(milliseconds=1)) as watch:
        assert watch.silent_since(watch.mark())
        assert service.cancelled.wait(60)
        with pytest.raises(OutageError) as given_up:
            watch.await_answers("r1")
    error = given_up.value
    assert error.what.startswith("Kafka has not answered since ")
    assert "run r1 is paused" in error.what
    assert error.remedy == "anabranch retry r1"
    assert error.on_record["service"] == "Kafka"
