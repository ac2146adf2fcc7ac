import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from anabranch.adapters.embedded.errors import StackBusyError
from anabranch.adapters.embedded.lock import exclusive

HOLD = """
import sys, time
from pathlib import Path
from anabranch.adapters.embedded.lock import exclusive
with exclusive(Path(sys.argv[1]), 0, print):
    print("held", flush=True)
    time.sleep(600)
"""


@contextmanager
def another_holder(lock: Path) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen([sys.executable, "-c", HOLD, str(lock)], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        try:
            yield other
        finally:
            other.kill()


def test_one_command_at_a_time(tmp_path: Path) -> None:
    with (
        another_holder(tmp_path / "lock"),
        pytest.raises(StackBusyError) as caught,
        exclusive(tmp_path / "lock", 0.2, lambda _words: None),
    ):
        pass

    assert caught.value.exit_code == 4


def test_the_second_says_that_it_waits_and_goes_on_when_the_first_is_killed(tmp_path: Path) -> None:
    with another_holder(tmp_path / "lock") as other:
        said = []

        def kill_once_waiting(words: str) -> None:
            said.append(words)
            other.kill()

        with exclusive(tmp_path / "lock", 60, kill_once_waiting):
            pass

    assert len(said) == 1
    assert "waiting" in said[0]


def test_a_free_lock_needs_no_words(tmp_path: Path) -> None:
    said: list[str] = []

    for _ in range(2):
        with exclusive(tmp_path / "lock", 0, said.append):
            pass

    assert said == []
