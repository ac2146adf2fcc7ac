"""`anabranch init`: a project that works at once, and nothing overwritten."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from anabranch.cli.main import main
from anabranch.project.load import load_project
from anabranch.project.scaffold import InitFailedError, plan_project, write_project


def init(*arguments: str) -> int:
    return main(["init", *arguments])


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_new_project_is_good_in_every_context(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert init(str(tmp_path / "my-shop")) == 0
    assert "anabranch dev up" in capsys.readouterr().err
    for context in ("dev", "prod"):
        assert main(["check", "--project", str(tmp_path / "my-shop"), "--context", context]) == 0
    assert load_project(tmp_path / "my-shop", environment={}).project.metadata.name == "my-shop"
    assert "__PROJECT__" not in b"".join(contents(tmp_path / "my-shop").values()).decode()
    assert ".anabranch/" in (tmp_path / "my-shop" / ".gitignore").read_text()


def test_what_was_written_is_told_as_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert init(str(tmp_path / "shop"), "-o", "json") == 0
    told = json.loads(capsys.readouterr().out)
    assert sorted(told["files"]) == sorted(contents(tmp_path / "shop"))
    assert told["name"] == "shop"


def test_a_folder_with_other_files_keeps_them(tmp_path: Path) -> None:
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "notes.txt").write_text("mine")
    assert init(str(folder)) == 0
    assert (folder / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize("taken", ["README.md", "pipelines/orders.yaml", "pipelines"])
def test_a_file_in_the_way_stops_it_with_nothing_written(
    tmp_path: Path, taken: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "shop"
    (folder / taken).parent.mkdir(parents=True)
    (folder / taken).write_text("mine")
    before = contents(folder)
    assert init(str(folder)) == 2
    assert contents(folder) == before
    assert taken in capsys.readouterr().err


def test_a_link_in_the_way_is_not_followed(tmp_path: Path) -> None:
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "anabranch.yaml").symlink_to(tmp_path / "elsewhere")
    assert init(str(folder)) == 2
    assert not (tmp_path / "elsewhere").exists()


def test_a_second_init_changes_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "shop"
    assert init(str(folder)) == 0
    (folder / "anabranch.yaml").write_text("mine")
    before = contents(folder)
    assert init(str(folder)) == 2
    assert contents(folder) == before


@pytest.mark.parametrize(("name", "better"), [("My Shop", "my-shop"), ("shop_1", "shop-1"), ("--", "my-project")])
def test_a_name_that_can_not_be_used_comes_with_one_that_can(
    tmp_path: Path, name: str, better: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert init(str(tmp_path / name)) == 2
    assert f"--name {better}" in capsys.readouterr().err
    assert not (tmp_path / name).exists()
    assert init(str(tmp_path / name), "--name", better) == 0


def test_a_file_instead_of_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "shop").write_text("mine")
    assert init(str(tmp_path / "shop")) == 2


@pytest.mark.parametrize("appears", ["transforms", "pipelines/payments.yaml"])
def test_what_appears_after_the_check_is_kept_and_all_else_taken_away_again(tmp_path: Path, appears: str) -> None:
    folder = tmp_path / "shop"
    plan = plan_project(folder, None)
    (folder / appears).parent.mkdir(parents=True)
    (folder / appears).write_text("mine")
    with pytest.raises(InitFailedError):
        write_project(plan)
    assert contents(folder) == {appears: b"mine"}


def test_every_file_of_the_template_is_in_the_plan(tmp_path: Path) -> None:
    assert {"anabranch.yaml", ".gitignore", "transforms/orders.py", "tests/test_orders.py"} <= set(
        plan_project(tmp_path / "shop", None).files
    )


@pytest.mark.cluster
def test_the_tests_of_a_new_project_pass(tmp_path: Path) -> None:
    """Marked `cluster` because it starts a Spark of its own, and `make test` starts only one."""
    assert init(str(tmp_path / "shop")) == 0
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q"], cwd=tmp_path / "shop", capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "4 passed" in done.stdout
