"""Whether the holder of a lease still lives: told for this machine's processes, never guessed for another's."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from datetime import timedelta

import psutil
import pytest
from tests.fixtures.broker import eventually

from anabranch.runs.lease_holder import LEASE_VARIABLE, LeaseTimeError, holder_name, is_gone, lease_time
from anabranch.runs.run_lease import LEASE_DURATION

NAME_AND_WAIT = "from anabranch.runs.lease_holder import holder_name; print(holder_name('ann'), flush=True); input()"


def test_this_process_is_not_gone() -> None:
    assert not is_gone(holder_name("ann"))


def test_a_process_is_gone_once_it_ended_and_not_while_it_is_stopped() -> None:
    process = subprocess.Popen([sys.executable, "-c", NAME_AND_WAIT], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with process:
        assert process.stdout is not None
        name = process.stdout.readline().decode().strip()
        assert not is_gone(name)
        process.send_signal(signal.SIGSTOP)
        eventually(lambda: psutil.Process(process.pid).status() == psutil.STATUS_STOPPED)
        assert not is_gone(name), "whoever is stopped may be continued"
        process.kill()
        eventually(lambda: psutil.Process(process.pid).status() == psutil.STATUS_ZOMBIE)
        assert is_gone(name), "killed, though its parent has not looked yet"
    assert is_gone(name)


def test_another_process_with_the_same_pid_is_not_the_holder() -> None:
    assert is_gone(re.sub(r"since \d+", "since 1", holder_name("ann")))


@pytest.mark.parametrize("name", ["driver", "ann@elsewhere:1", "ann@elsewhere:1 (since 1 on 0123456789ab)", ""])
def test_of_anybody_else_nothing_is_known(name: str) -> None:
    assert not is_gone(name)


def test_the_name_says_who_and_where() -> None:
    assert re.fullmatch(rf"ann@.+:{os.getpid()} \(since \d+ on [0-9a-f]+\)", holder_name("ann"))


def test_a_lease_lasts_as_long_as_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    assert lease_time() == LEASE_DURATION
    monkeypatch.setenv(LEASE_VARIABLE, "2.5")
    assert lease_time() == timedelta(seconds=2.5)


@pytest.mark.parametrize("said", ["", "0", "-3", "soon", "nan", "1e3"])
def test_what_is_no_time_is_refused(monkeypatch: pytest.MonkeyPatch, said: str) -> None:
    monkeypatch.setenv(LEASE_VARIABLE, said)
    with pytest.raises(LeaseTimeError, match=LEASE_VARIABLE):
        lease_time()
