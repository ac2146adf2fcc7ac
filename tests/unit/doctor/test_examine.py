"""The doctor's examination: in order, one finding each, and no error stops it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from anabranch.adapters.jvm.java import install_command
from anabranch.cli.main import main
from anabranch.doctor.examine import examine
from anabranch.doctor.finding import DoctorFinding, DoctorSubject, Level

MACHINE = [DoctorSubject.PYTHON, DoctorSubject.JAVA, DoctorSubject.MEMORY, DoctorSubject.DISK, DoctorSubject.JARS]
OUTSIDE = [DoctorSubject.KAFKA, DoctorSubject.CATALOG, DoctorSubject.DATABASE, DoctorSubject.SPARK]
SLOW = {DoctorSubject.JARS, DoctorSubject.SPARK}


def by_subject(findings: list[DoctorFinding]) -> dict[str, DoctorFinding]:
    return {finding.subject: finding for finding in findings}


def test_outside_of_a_project_only_the_machine_is_looked_at_and_it_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    findings = list(examine(skip={DoctorSubject.JARS}))
    assert [finding.subject for finding in findings] == ["python", "java", "memory", "disk", "project"]
    assert findings[-1].level is Level.YELLOW
    assert "only the machine" in findings[-1].says


def test_a_project_that_was_asked_for_and_is_not_there_is_red(tmp_path: Path) -> None:
    (finding,) = examine(tmp_path, skip=MACHINE)
    assert (finding.subject, finding.level) == ("project", Level.RED)
    assert str(tmp_path) in finding.says


def test_every_subject_in_order_in_a_project(shop: Path) -> None:
    started: list[DoctorSubject] = []
    findings = list(examine(shop, skip=SLOW, starting=started.append))
    wanted = [subject for subject in DoctorSubject if subject not in SLOW]
    assert started == wanted
    assert [finding.subject for finding in findings] == [subject.value for subject in wanted]


def test_an_embedded_kafka_that_is_down_is_red_with_the_command_that_starts_it(shop: Path) -> None:
    kafka = by_subject(list(examine(shop, skip={*SLOW, *MACHINE})))["kafka"]
    assert (kafka.level, kafka.remedy) == (Level.RED, "anabranch dev up")


def test_a_fresh_project_on_this_machine(shop: Path) -> None:
    found = by_subject(list(examine(shop, skip={*SLOW, *MACHINE}, unique="t1")))
    assert found["project"].level is Level.GREEN
    assert "2 pipelines, 1 contract" in found["project"].says
    assert found["catalog"].level is Level.GREEN
    assert found["database"].level is Level.YELLOW
    assert not (shop / ".anabranch" / "anabranch.db").exists(), "looking made a database"


def test_a_bad_pipeline_is_red_and_the_rest_is_looked_at(shop: Path) -> None:
    (shop / "pipelines" / "orders.yaml").write_text("kind: Nonsense\n")
    found = by_subject(list(examine(shop, skip={*SLOW, *MACHINE})))
    assert (found["project"].level, found["project"].remedy) == (Level.RED, "anabranch check")
    assert "orders.yaml" in found["project"].says
    assert found["catalog"].level is Level.GREEN


def test_a_project_that_can_not_be_loaded_is_red_and_the_rest_yellow(shop: Path) -> None:
    (shop / "anabranch.yaml").write_text("spec: [\n")
    found = by_subject(list(examine(shop, skip=MACHINE)))
    assert found.pop("project").level is Level.RED
    assert {name: finding.level for name, finding in found.items()} == {s.value: Level.YELLOW for s in OUTSIDE}


def test_an_unknown_context_is_red(shop: Path) -> None:
    found = by_subject(list(examine(shop, "pord", skip=MACHINE)))
    assert found["project"].level is Level.RED
    assert "pord" in found["project"].says


def test_an_error_while_looking_is_that_looks_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.chdir(tmp_path)
    met: list[Exception] = []
    java = by_subject(list(examine(skip={DoctorSubject.JARS}, met=met.append)))["java"]
    assert (java.level, java.remedy) == (Level.RED, install_command())
    assert [getattr(error, "code", None) for error in met] == ["java.missing"]


def test_a_surprise_is_a_finding_with_its_kind_and_words(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state = shop / ".anabranch"
    state.write_text("a file where a folder must be")
    met: list[Exception] = []
    found = by_subject(list(examine(shop, skip={*SLOW, *MACHINE}, met=met.append)))
    assert found["catalog"].level is Level.RED
    assert "Error" in found["catalog"].says
    assert ".anabranch" in found["catalog"].says
    assert met


def test_a_damaged_database_is_red(shop: Path) -> None:
    (shop / ".anabranch").mkdir()
    (shop / ".anabranch" / "anabranch.db").write_bytes(b"not a database at all" * 100)
    database = by_subject(list(examine(shop, skip={*SLOW, *MACHINE})))["database"]
    assert database.level is Level.RED
    assert "not a SQLite database" in database.says


def test_the_command_prints_data_on_stdout_progress_on_stderr_and_1_for_red(
    shop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["doctor", "--project", str(shop), "--skip", "spark", "--skip", "jars", "-o", "json"])
    said = capsys.readouterr()
    document = json.loads(said.out)
    assert code == 1
    assert document["healthy"] is False
    assert [each["subject"] for each in document["findings"]][-3:] == ["kafka", "catalog", "database"]
    assert "checking kafka" in said.err
    assert "Traceback" not in said.err


def test_the_command_draws_a_table_and_0_for_no_red(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["doctor", "--skip", "jars", "--skip", "memory", "--skip", "disk"]) == 0
    rows = capsys.readouterr().out.splitlines()
    assert [row.split()[1:3] for row in rows] == [["green", "python"], ["green", "java"], ["yellow", "project"]]
    assert rows[-1].rstrip().endswith("anabranch init DIR")
