"""`anabranch audit`: the chain listed and verified from the command line, with an anchor kept elsewhere."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from anabranch.adapters.sql.store import open_store
from anabranch.cli.main import main
from anabranch.errors import ExitCode
from anabranch.runs.audit import AuditRecord, record_hash

PROJECT = """\
apiVersion: anabranch/v1
kind: Project
metadata: {name: shop}
spec:
  defaultContext: dev
  contexts:
    dev: {}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "anabranch.yaml").write_text(PROJECT)
    return tmp_path


@pytest.fixture
def database(project: Path) -> Path:
    """The project's control database, with three records on its audit chain."""
    (project / ".anabranch").mkdir()
    file = project / ".anabranch" / "anabranch.db"
    with open_store(f"sqlite:///{file}") as store:
        for number in range(3):
            store.writer.record_act("test.act", actor="ada", details={"number": number})
    return file


def audit(capsys: pytest.CaptureFixture[str], project: Path, *arguments: str) -> tuple[int, str, str]:
    code = main(["audit", arguments[0], "--project", str(project), *arguments[1:]])
    said = capsys.readouterr()
    return code, said.out, said.err


def tamper(database: Path, statement: str) -> None:
    with sqlite3.connect(database) as connection:
        connection.execute(statement)
    connection.close()


def rewrite_from_the_second_record(database: Path) -> None:
    """A forger who mends every hash and the head."""
    with sqlite3.connect(database) as connection:
        rows = connection.execute("SELECT * FROM audit ORDER BY seq").fetchall()
        records = [AuditRecord(*row) for row in rows]
        previous = records[0].hash
        for record in records[1:]:
            forged = AuditRecord(**{**record.__dict__, "actor": "eve", "previous": previous})
            previous = record_hash(forged)
            connection.execute(
                "UPDATE audit SET actor = 'eve', previous = ?, hash = ? WHERE seq = ?",
                [forged.previous, previous, record.seq],
            )
        connection.execute("UPDATE audit_head SET hash = ?", [previous])
    connection.close()


def test_an_intact_chain(capsys: pytest.CaptureFixture[str], project: Path, database: Path) -> None:
    code, out, _ = audit(capsys, project, "verify", "-o", "json")
    assert code == ExitCode.DONE
    document = json.loads(out)
    assert (document["intact"], document["head"]["seq"], document["flaw"]) == (True, 3, None)
    code, out, _ = audit(capsys, project, "verify")
    assert code == ExitCode.DONE
    assert "intact: 3 records" in out
    assert document["head"]["hash"] in out


def test_a_broken_chain_names_the_record_on_stdout_and_fails(
    capsys: pytest.CaptureFixture[str], project: Path, database: Path
) -> None:
    tamper(database, "UPDATE audit SET actor = '[red]eve' WHERE seq = 2")
    code, out, err = audit(capsys, project, "verify", "-o", "json")
    assert code == ExitCode.REFUSED
    document = json.loads(out)
    assert (document["intact"], document["flaw"], document["seq"]) == (False, "altered", 2)
    assert json.loads(err)["error"]["code"] == "audit.broken"
    code, out, err = audit(capsys, project, "verify")
    assert code == ExitCode.REFUSED
    assert "broken at record 2" in out
    assert "audit.broken" in err


def test_what_verify_prints_is_an_anchor_that_catches_a_rewritten_history(
    capsys: pytest.CaptureFixture[str], project: Path, database: Path, tmp_path: Path
) -> None:
    anchor = tmp_path / "anchor.json"
    anchor.write_text(audit(capsys, project, "verify", "-o", "json")[1])
    assert audit(capsys, project, "verify", "--anchor", str(anchor))[0] == ExitCode.DONE
    rewrite_from_the_second_record(database)
    assert audit(capsys, project, "verify")[0] == ExitCode.DONE
    code, out, _ = audit(capsys, project, "verify", "--anchor", str(anchor), "-o", "json")
    assert code == ExitCode.REFUSED
    assert (json.loads(out)["flaw"], json.loads(out)["seq"]) == ("rewritten", 3)


@pytest.mark.parametrize(
    "content",
    [None, "", "[]", "{}", '{"head": 3}', '{"head": {"seq": "3", "hash": "x"}}', '{"head": {"seq": 3}}', "\x00"],
)
def test_a_file_that_is_no_anchor_is_refused(
    capsys: pytest.CaptureFixture[str], project: Path, database: Path, tmp_path: Path, content: str | None
) -> None:
    anchor = tmp_path / "anchor.json"
    if content is not None:
        anchor.write_text(content)
    code, out, err = audit(capsys, project, "verify", "--anchor", str(anchor))
    assert (code, out) == (ExitCode.USAGE, "")
    assert "audit.anchor-unreadable" in err
    assert "Traceback" not in err


def test_records_are_listed(capsys: pytest.CaptureFixture[str], project: Path, database: Path) -> None:
    code, out, _ = audit(capsys, project, "list", "--after", "1", "--limit", "1", "-o", "json")
    assert code == ExitCode.DONE
    (record,) = json.loads(out)
    assert (record["seq"], record["actor"], record["details"]) == (2, "ada", {"number": 1})
    code, out, _ = audit(capsys, project, "list")
    assert code == ExitCode.DONE
    assert out.count("test.act") == 3
    assert json.loads(audit(capsys, project, "list", "--run", "r1", "-o", "json")[1]) == []


def test_a_record_that_was_made_unreadable_is_still_listed_and_colours_nothing(
    capsys: pytest.CaptureFixture[str], project: Path, database: Path
) -> None:
    tamper(database, "UPDATE audit SET details = '{', actor = '[red]eve' WHERE seq = 2")
    code, out, _ = audit(capsys, project, "list", "-o", "json")
    assert code == ExitCode.DONE
    assert json.loads(out)[1]["details"] == "{"
    assert "[red]eve" in audit(capsys, project, "list")[1]


def test_looking_at_a_project_without_runs_creates_nothing(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    code, out, err = audit(capsys, project, "verify")
    assert (code, out) == (ExitCode.FAILED, "")
    assert "store.absent" in err
    assert not (project / ".anabranch").exists()


def test_no_project_is_said(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, _, err = audit(capsys, tmp_path, "list")
    assert code == ExitCode.USAGE
    assert "project.not-found" in err
