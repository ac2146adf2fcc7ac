import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from anabranch.adapters.embedded.broker_process import environment, find, mark, stop
from anabranch.adapters.embedded.layout import Layout
from anabranch.adapters.processes import Process, alive, is_recorded, process_of

RECORDED = Process(4711, 1000.0)
MARK = mark(Layout(Path("/project/.anabranch")), 1)
BROKER = ["java", MARK, "kafka.Kafka", "broker-1.properties"]


@pytest.mark.parametrize(
    ("now", "arguments", "ours"),
    [
        pytest.param(RECORDED, BROKER, True, id="the broker itself"),
        pytest.param(Process(4711, 1000.2), BROKER, True, id="the clock was trimmed"),
        pytest.param(Process(4711, 5000.0), BROKER, False, id="recycled pid"),
        pytest.param(Process(4712, 1000.0), BROKER, False, id="another pid"),
        pytest.param(RECORDED, ["sleep", "60"], False, id="another program"),
        pytest.param(RECORDED, ["vi", "x", MARK], False, id="a program that only mentions it"),
        pytest.param(RECORDED, [], False, id="a process that hides its arguments"),
        pytest.param(RECORDED, ["java", MARK.replace("#1", "#2")], False, id="another broker of the project"),
        pytest.param(RECORDED, ["java", MARK.replace("project", "copy")], False, id="the original of a copied project"),
    ],
)
def test_only_the_recorded_broker_is_recorded(now: Process, arguments: list[str], ours: bool) -> None:
    assert is_recorded(RECORDED, now, arguments, MARK) is ours


@pytest.fixture
def stubborn() -> Iterator[psutil.Process]:
    """A real process that ignores the request to end."""
    ignore = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN)"
    code = f"{ignore}; print('ready', flush=True); time.sleep(600)"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        yield psutil.Process(child.pid)
        child.kill()


def test_a_living_process_on_a_stale_pid_is_not_taken_for_the_broker(stubborn: psutil.Process, tmp_path: Path) -> None:
    assert find(Layout(tmp_path), 1, process_of(stubborn)) is None


def test_a_process_that_ignores_the_request_is_killed(stubborn: psutil.Process) -> None:
    assert alive(stubborn)

    stop([stubborn], patience=0.2)

    assert not alive(stubborn)


def test_stopping_what_is_gone_is_no_error(stubborn: psutil.Process) -> None:
    stop([stubborn], patience=0)
    stop([stubborn], patience=0)

    assert not alive(stubborn)


def test_secrets_of_our_environment_are_not_passed_on() -> None:
    passed = environment([Path("/a.jar"), Path("/b.jar")], {"PATH": "/bin", "DB_PASSWORD": "canary", "LANG": "C"})

    assert passed == {"PATH": "/bin", "LANG": "C", "CLASSPATH": "/a.jar:/b.jar"}
