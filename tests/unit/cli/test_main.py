"""Every outcome of a command as words and an exit code."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from anabranch.cli.app import app
from anabranch.cli.current_command import note_status_command
from anabranch.cli.main import main
from anabranch.cli.output import Format, Output
from anabranch.errors import AnabranchError, ExitCode


class SampleError(AnabranchError):
    code = "sample.conflict"
    exit_code = ExitCode.CONFLICT


def _conflict() -> None:
    error = SampleError("It broke.", state="The table is.", command="anabranch doctor", seq=7)
    raise error from OSError("the cause underneath")


def _surprise() -> None:
    raise ZeroDivisionError("nobody saw it coming")


def _interrupt() -> None:
    raise KeyboardInterrupt


def _nothing() -> None:
    pass


def _surprise_with_a_run() -> None:
    note_status_command("anabranch status 20250601-ab12")
    _surprise()


@contextmanager
def sample_command(act: Callable[[], None], name: str = "sample") -> Iterator[None]:
    """A real command of the real app, for as long as the test takes."""

    @app.command(name)
    def sample(output: Output = Format.TABLE) -> None:
        act()

    try:
        yield
    finally:
        app.registered_commands.pop()


@pytest.fixture(autouse=True)
def _no_debug(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANABRANCH_DEBUG", "0")


def test_done() -> None:
    with sample_command(_nothing):
        assert main(["sample"]) == 0


def test_our_error_is_told_in_four_lines_and_no_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    with sample_command(_conflict):
        assert main(["sample"]) == 4
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.splitlines() == [
        "error     It broke.  [sample.conflict]",
        "cause     OSError: the cause underneath",
        "state     The table is.",
        "run       anabranch doctor",
    ]


@pytest.mark.parametrize("output", ["json", "yaml"])
def test_for_machines_our_error_is_one_line_of_json_on_stderr(output: str, capsys: pytest.CaptureFixture[str]) -> None:
    with sample_command(_conflict):
        assert main(["sample", "-o", output]) == 4
    said = capsys.readouterr()
    assert said.out == ""
    (line,) = said.err.splitlines()
    assert json.loads(line) == {
        "error": {
            "code": "sample.conflict",
            "exit_code": 4,
            "what": "It broke.",
            "cause": "OSError: the cause underneath",
            "state": "The table is.",
            "command": "anabranch doctor",
            "hint": None,
            "fields": {"seq": 7},
        }
    }


def test_an_internal_error_claims_no_state_and_names_the_command_that_shows_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with sample_command(_surprise_with_a_run):
        assert main(["sample"]) == 1
    said = capsys.readouterr().err
    assert said.splitlines() == [
        "error     Internal error: ZeroDivisionError: nobody saw it coming.  [unexpected]",
        "state     Unknown: run `anabranch status 20250601-ab12` before you retry.",
        "run       anabranch status 20250601-ab12",
        "hint      `anabranch --debug sample …` shows the traceback of a retry",
    ]


def test_the_run_of_one_command_is_not_named_by_the_next(capsys: pytest.CaptureFixture[str]) -> None:
    with sample_command(_surprise_with_a_run):
        main(["sample"])
    capsys.readouterr()
    with sample_command(_surprise):
        main(["sample"])
    assert "Unknown: run `anabranch list --all` before you retry." in capsys.readouterr().err


def test_an_internal_error_of_a_command_that_only_reads_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    with sample_command(_surprise, "list"):
        assert main(["list"]) == 1
    said = capsys.readouterr().err
    assert "`anabranch list` changes no run, table or topic." in said
    assert "Unknown" not in said


@pytest.mark.parametrize(("act", "kind"), [(_surprise, ZeroDivisionError), (_conflict, SampleError)])
def test_debug_lets_the_traceback_out(act: Callable[[], None], kind: type[Exception]) -> None:
    with sample_command(act), pytest.raises(kind):
        main(["--debug", "sample"])


def test_an_interrupt_is_130_and_no_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    with sample_command(_interrupt):
        assert main(["sample"]) == 130
    assert "Traceback" not in capsys.readouterr().err


def test_ctrl_c_in_a_real_process_is_130() -> None:
    code = """
import signal, sys, time
from anabranch.cli.app import app
from anabranch.cli.main import main

# Whoever runs the tests in the background has it ignored, and a child inherits that.
signal.signal(signal.SIGINT, signal.default_int_handler)

@app.command()
def wait():
    print(".", flush=True)
    time.sleep(60)

sys.exit(main(["wait"]))
"""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == ".\n"
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert (process.returncode, "Traceback" in said) == (130, False), said


@pytest.mark.parametrize(
    "arguments",
    [["no-such-command"], ["check", "--no-such-option"], ["check", "-o", "xml"], [], ["doctor", "--skip", "cat"]],
    ids=" ".join,
)
def test_a_wrong_request_is_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    said = capsys.readouterr().err
    assert "Usage" in said
    assert "Traceback" not in said


def test_the_version_is_data(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("anabranch ")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_completion_script_is_printed(shell: str) -> None:
    script = subprocess.run(
        [sys.executable, "-m", "anabranch"],
        env={**os.environ, "_ANABRANCH_COMPLETE": f"source_{shell}"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert f"_ANABRANCH_COMPLETE=complete_{shell}" in script
