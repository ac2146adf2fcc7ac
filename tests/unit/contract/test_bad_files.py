"""Every bad file in tests/bad is refused with its line, through the command line, before any connection."""

from __future__ import annotations

import json
import re
import shutil
import socket
from pathlib import Path

import pytest
from tests.fixtures.project import no_connection

from anabranch.cli.main import main

BAD = Path(__file__).parents[2] / "bad"
PLACES = {
    "project": "anabranch.yaml",
    "pipeline": "pipelines/orders.yaml",
    "contract": "contracts/fix-currency.yaml",
}
FILES = sorted(BAD.rglob("*.yaml"))


def expectations(path: Path) -> list[tuple[int | None, str]]:
    """The leading `# expect: LINE: phrase` lines; a dash for a problem that has no line."""
    found: list[tuple[int | None, str]] = []
    for line in path.read_bytes().split(b"\n"):
        match = re.fullmatch(rb"# expect: (\d+|-): (.+)", line)
        if match is None:
            return found
        found.append((None if match[1] == b"-" else int(match[1]), match[2].decode()))
    return found


def check(folder: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, list[str], str]:
    """Exit code, the findings as people read them, and everything that was printed."""
    with no_connection():
        code = main(["check", "--project", str(folder), "-o", "json"])
    printed = capsys.readouterr()
    findings = []
    for finding in json.loads(printed.out)["findings"]:
        place = finding["file"] if finding["line"] is None else f"{finding['file']}:{finding['line']}"
        findings.append(f"{place}: {finding['key']}: {finding['what']}. Write: {finding['write']}")
    return code, findings, printed.out + printed.err


def test_there_are_enough_bad_files() -> None:
    assert len(FILES) >= 75
    assert all(expectations(path) for path in FILES)


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_bad_file(path: Path, shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = PLACES[path.parent.name]
    shutil.copy(path, shop / place)
    code, findings, printed = check(shop, capsys)
    assert code == 2
    about_this = [finding for finding in findings if finding.startswith(place)]
    assert len(about_this) == len(expectations(path)), "\n".join(findings)
    for (line, phrase), finding in zip(expectations(path), about_this, strict=True):
        assert finding.startswith(f"{place}: " if line is None else f"{place}:{line}: ")
        assert phrase in finding
    assert "Traceback" not in printed
    assert "canary" not in printed


def test_the_project_without_a_bad_file_is_good(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, findings, _ = check(shop, capsys)
    assert (code, findings) == (0, [])


def test_people_read_file_line_and_what_to_write(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copy(BAD / "pipeline" / "class-unknown.yaml", shop / PLACES["pipeline"])
    assert main(["check", "--project", str(shop)]) == 2
    printed = capsys.readouterr()
    assert "pipelines/orders.yaml:7: spec.class: this must be 'stateless'" in printed.out
    assert "project.check-failed" in printed.err


def test_the_watch_for_connections_sees_one() -> None:
    with pytest.raises(AssertionError, match=r"socket\.getaddrinfo"), no_connection():
        socket.getaddrinfo("127.0.0.1", 9)
