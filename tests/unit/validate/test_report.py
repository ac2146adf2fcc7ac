"""The report: its verdict, its document, and its files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.unit.validate.evidence import ACCOUNTS, BUCKETS, report, staged

from anabranch.pages.report_files import write_report
from anabranch.validate.measures import Checksum, Difference, Differences, OutOfRangeFiles, QueryRun
from anabranch.validate.report import Verdict


def test_a_good_replay_is_accepted() -> None:
    found = report()
    assert found.verdict is Verdict.ACCEPTED
    assert found.failed == found.warned == ()
    assert [bucket.base for bucket in found.buckets] == list(BUCKETS.values())
    assert found.digest == Checksum(16, 3, 3)
    assert found.ledger.offsets == 20


def test_a_warning_does_not_reject() -> None:
    found = report([ACCOUNTS[0]], staged=staged(second=0))
    assert [result.check for result in found.warned] == ["rows per hour"]
    accounts = [ACCOUNTS[0]]
    assert report(accounts, staged=staged(second=0)).verdict is Verdict.REJECTED, "the slice that is missing does"


def test_one_failed_check_rejects() -> None:
    found = report(strays=OutOfRangeFiles(1))
    assert found.verdict is Verdict.REJECTED
    assert [result.check for result in found.failed] == ["outside the range"]


def test_the_document_is_plain_json_and_says_it_all() -> None:
    pair = Difference({"a": 1}, {"a": 2})
    document = report(differences=Differences(True, (1,), (pair,)), staged=staged(first=9)).document()
    again = json.loads(json.dumps(document, allow_nan=False))
    assert again == document
    assert document["format"] == 1
    assert document["verdict"] == "rejected"
    assert document["range"] == {
        "column": "ordered_at",
        "grain": "hour",
        "start": "2025-06-01T00:00:00.000000Z",
        "end": "2025-06-01T02:00:00.000000Z",
    }
    assert [bucket["changed"] for bucket in document["buckets"]] == [True, False]
    assert document["differences"]["rows"] == [{"before": {"a": 1}, "after": {"a": 2}}]
    assert {result["outcome"] for result in document["results"]} == {"passed", "failed"}


def test_the_files_replace_earlier_ones_whole(tmp_path: Path) -> None:
    first = write_report(report(), tmp_path)
    second = write_report(report(strays=OutOfRangeFiles(1)), tmp_path)
    assert first == second
    assert json.loads(second.document.read_text())["verdict"] == "rejected"
    assert "Rejected" in second.page.read_text()
    assert sorted(path.name for path in second.page.parent.iterdir()) == ["validation.html", "validation.json"]


def test_a_report_that_can_not_be_written_leaves_the_earlier_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = write_report(report(), tmp_path)
    before = written.document.read_bytes()

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_report(report(strays=OutOfRangeFiles(1)), tmp_path)
    assert written.document.read_bytes() == before
    assert len(list(written.page.parent.iterdir())) == 2


def test_half_a_character_does_not_cost_the_report(tmp_path: Path) -> None:
    query = QueryRun("odd", "SELECT", sample=({"a": "\ud800"},))
    written = write_report(report(queries=(query,)), tmp_path)
    assert "ud800" in written.document.read_text(encoding="utf-8")
    assert "ud800" in written.page.read_text(encoding="utf-8")
