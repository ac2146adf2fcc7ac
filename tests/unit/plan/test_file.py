"""A plan as a document and as a file: what comes back is what was written, or it is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.unit.plan.world import World, hourly

from anabranch.plan.plan import read_plan
from anabranch.plan.plan_file import (
    PlanFileError,
    PlanFileUnwritableError,
    document_of_planned,
    read_plan_file,
    write_plan_file,
)
from anabranch.plan.planner import Planned


@pytest.fixture
def planned(world: World) -> Planned:
    return world.plan([hourly(20), hourly(10)])


def test_a_document_reads_back_as_the_same_plan(world: World, planned: Planned) -> None:
    for each in (planned, world.plan([hourly(20)], range={"everything": True})):
        document = json.loads(json.dumps(each.plan.document()))
        assert read_plan(document) == each.plan
        assert read_plan(document).hash == each.plan.hash


def test_a_file_reads_back(planned: Planned, tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    write_plan_file(file, planned)
    found = read_plan_file(file)
    assert found.plan == planned.plan
    assert found.contract == planned.request.contract
    assert [path.name for path in tmp_path.iterdir()] == ["plan.json"]
    write_plan_file(file, planned)
    assert json.loads(file.read_text()) == document_of_planned(planned)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("plan", "target", "base"), "8"),
        (("plan", "slices"), []),
        (("contract", "spec", "reason"), "another"),
        (("hash",), "0" * 64),
        (("format",), "anabranch.plan/v9"),
        (("plan",), None),
        (("plan", "source", "uuid"), ["u"]),
    ],
)
def test_an_edited_file_is_refused(planned: Planned, tmp_path: Path, path: tuple[str, ...], value: Any) -> None:
    document = document_of_planned(planned)
    place = document
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    file = tmp_path / "plan.json"
    file.write_text(json.dumps(document))
    with pytest.raises(PlanFileError):
        read_plan_file(file)


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b"\xff\xfe", b'{"format": "anabranch.plan/v1"}'])
def test_what_is_no_plan_is_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "plan.json"
    file.write_bytes(content)
    with pytest.raises(PlanFileError):
        read_plan_file(file)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PlanFileError):
        read_plan_file(tmp_path / "none.json")


def test_a_place_that_can_t_be_written_is_told_and_nothing_is_left(planned: Planned, tmp_path: Path) -> None:
    with pytest.raises(PlanFileUnwritableError):
        write_plan_file(tmp_path / "no-such-folder" / "plan.json", planned)
    (tmp_path / "taken").mkdir()
    with pytest.raises(PlanFileUnwritableError):
        write_plan_file(tmp_path / "taken", planned)
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]
