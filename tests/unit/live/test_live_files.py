"""What live's driver writes is what the governor reads, though the two share no code."""

from __future__ import annotations

import json
import os
from pathlib import Path

import psutil
import pytest

from anabranch.adapters.live_files import LiveFiles, LiveFilesUnreadableError
from anabranch.adapters.processes import Process
from anabranch.live.layout import LiveLayout
from anabranch.live.progress import BatchDone, Progress, save_progress
from anabranch.live.record import DriverPhase, DriverRecord, save_record


@pytest.fixture
def layout(tmp_path: Path) -> LiveLayout:
    layout = LiveLayout(tmp_path.resolve(), "orders")
    layout.folder.mkdir(parents=True)
    return layout


def own_process() -> Process:
    return Process(os.getpid(), psutil.Process().create_time())


def test_nothing_is_known_of_live_that_never_ran_here(tmp_path: Path) -> None:
    assert LiveFiles(tmp_path, "orders").driver() is None


def test_process_phase_batches_and_silent_services_are_read(layout: LiveLayout) -> None:
    save_record(layout.record, DriverRecord(own_process(), DriverPhase.RUNNING, silent={"Kafka": "2025-06-01"}))
    batch = BatchDone(7, 10, 10, 0, 100.0, 101.5, None)
    save_progress(layout.progress, Progress(interval=2.0).after(batch, {0: (0, 10)}, None))
    driver = LiveFiles(layout.state, "orders").driver()
    assert driver is not None
    assert (driver.runs, driver.ended, driver.silent) == (True, "running", ("Kafka",))
    assert [(each.number, each.seconds, each.ratio) for each in driver.batches] == [(7, 1.5, 0.75)]


def test_a_process_that_ended_does_not_run(layout: LiveLayout) -> None:
    save_record(layout.record, DriverRecord(Process(2**22 + 1, 0.0), DriverPhase.STOPPED))
    driver = LiveFiles(layout.state, "orders").driver()
    assert driver is not None
    assert (driver.runs, driver.ended, driver.batches) == (False, "stopped", ())


def test_what_can_not_be_read_is_an_error(layout: LiveLayout) -> None:
    layout.record.write_text(json.dumps(["nothing"]))
    with pytest.raises(LiveFilesUnreadableError):
        LiveFiles(layout.state, "orders").driver()
