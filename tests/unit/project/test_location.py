from pathlib import Path

import pytest

from anabranch.project.location import ProjectNotFoundError, find_project_folder, state_folder


def test_nearest_project_upwards_is_found(tmp_path: Path) -> None:
    inner = tmp_path / "outer" / "inner"
    (inner / "transforms").mkdir(parents=True)
    (tmp_path / "outer" / "anabranch.yaml").touch()
    (inner / "anabranch.yaml").touch()

    assert find_project_folder(inner / "transforms") == inner
    assert find_project_folder(inner) == inner
    assert find_project_folder(inner.parent) == inner.parent
    assert state_folder(inner) == inner / ".anabranch"


def test_a_folder_of_that_name_is_no_project(tmp_path: Path) -> None:
    (tmp_path / "anabranch.yaml").mkdir()

    with pytest.raises(ProjectNotFoundError) as caught:
        find_project_folder(tmp_path)

    assert caught.value.code == "project.not-found"
    assert "anabranch init" in caught.value.remedy
