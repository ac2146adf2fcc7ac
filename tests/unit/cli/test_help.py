"""`--help` of every command answers at once: nothing heavy is imported before a command runs."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from anabranch.cli.main import main

HEAVY = {
    "alembic",
    "confluent_kafka",
    "jgo",
    "jinja2",
    "kafka",
    "numpy",
    "pandas",
    "psycopg",
    "psutil",
    "py4j",
    "pyarrow",
    "pyiceberg",
    "pyspark",
    "rich",
    "ruamel",
    "sqlalchemy",
}

SCRIPT = """
import contextlib, io, json, sys
import typer.main
from anabranch.cli.app import app
from anabranch.cli.main import main

def leaves(command, path=()):
    below = getattr(command, "commands", None)
    yield path, command
    for name, each in (below or {}).items():
        yield from leaves(each, (*path, name))

def modules():
    return sorted({name.split(".")[0] for name in sys.modules})

found, at_first = [], None
for path, command in leaves(typer.main.get_command(app)):
    words = io.StringIO()
    with contextlib.redirect_stdout(words):
        code = main([*path, "--help"])
    at_first = at_first or modules()
    options = [name for parameter in command.params for name in parameter.opts]
    group = hasattr(command, "commands")
    found.append({"path": list(path), "code": code, "help": words.getvalue(), "options": options, "group": group})
print(json.dumps({"commands": found, "at_first": at_first, "at_last": modules()}))
"""


@pytest.fixture(scope="module")
def seen() -> dict[str, object]:
    """All helps in one fresh interpreter, and what it had imported at the end."""
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    result: dict[str, object] = json.loads(done.stdout)
    return result


@pytest.fixture(scope="module")
def commands(seen: dict[str, object]) -> list[dict[str, object]]:
    found = seen["commands"]
    assert isinstance(found, list)
    assert len(found) > 10
    return found


def test_every_help_works(commands: list[dict[str, object]]) -> None:
    bad = [each["path"] for each in commands if each["code"] != 0 or "Usage: anabranch" not in str(each["help"])]
    assert bad == []


def _imported(seen: dict[str, object], when: str) -> set[str]:
    modules = seen[when]
    assert isinstance(modules, list)
    assert "typer" in modules
    return set(modules)


def test_no_help_imports_anything_heavy(seen: dict[str, object], commands: list[dict[str, object]]) -> None:
    assert _imported(seen, "at_last") & HEAVY == set()


def test_the_first_help_does_not_even_import_pydantic(
    seen: dict[str, object], commands: list[dict[str, object]]
) -> None:
    # Typer itself takes it to read the defaults of a command's options, so only `anabranch --help` goes without.
    assert _imported(seen, "at_first") & {*HEAVY, "pydantic"} == set()


def test_every_command_can_speak_to_machines(commands: list[dict[str, object]]) -> None:
    mute = [each["path"] for each in commands if not each["group"] and "-o" not in each["options"]]  # type: ignore[operator]
    assert mute == [["demo"]], "only a story has no data to give"


def test_no_line_of_a_command_list_is_cut(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The first sentence of a command's help fits one line of 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")
    listed = 0
    groups = "dev audit gates live zones retention drill queue quotas metrics"
    for group in ([], *([each] for each in groups.split())):
        assert main([*group, "--help"]) == 0
        _, _, commands = capsys.readouterr().out.partition("Commands:\n")
        listed += len(commands.splitlines())
        assert [line for line in commands.splitlines() if line.endswith("...")] == []
    assert listed > 40
