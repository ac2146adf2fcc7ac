"""A printed command runs in the same project and context as the one that printed it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from anabranch.cli import pasteable
from anabranch.cli.main import main
from anabranch.cli.output import print_facts, say, say_next, stdout


@pytest.fixture(autouse=True)
def options() -> None:
    pasteable.reset()
    pasteable.note_project(Path("my shop"))
    pasteable.note_context("prod")
    pasteable.note_contract(Path("contracts/fix.yaml"))


@pytest.mark.parametrize(
    ("command", "whole"),
    [
        ("anabranch status r1", "anabranch status r1 --project 'my shop' --context prod"),
        ("anabranch drill orders", "anabranch drill orders --project 'my shop' --context prod"),
        ("anabranch gates r1", "anabranch gates r1 --project 'my shop' --context prod"),
        ("anabranch dev up", "anabranch dev up --project 'my shop'"),
        (
            "anabranch dev down && anabranch dev up --new-ports",
            "anabranch dev down --project 'my shop' && anabranch dev up --new-ports --project 'my shop'",
        ),
        ("anabranch status r1 --context dev", "anabranch status r1 --context dev --project 'my shop'"),
        ("anabranch cost -f CONTRACT", "anabranch cost -f contracts/fix.yaml --project 'my shop' --context prod"),
        ("anabranch dev fetch", "anabranch dev fetch"),
        ("anabranch init DIR", "anabranch init DIR"),
        ("rm state.json && anabranch dev up", "rm state.json && anabranch dev up --project 'my shop'"),
        ("sudo apt-get install -y openjdk-17-jre-headless", "sudo apt-get install -y openjdk-17-jre-headless"),
    ],
)
def test_a_command_gets_the_options_it_accepts(command: str, whole: str) -> None:
    assert pasteable.pasteable(command) == whole
    assert pasteable.pasteable(whole) == whole


def test_without_options_a_command_stays_as_it_is() -> None:
    pasteable.reset()
    pasteable.note_project(Path())
    pasteable.note_context(None)
    pasteable.note_contract(None)
    assert pasteable.pasteable("anabranch cost -f CONTRACT") == "anabranch cost -f CONTRACT"


def test_the_next_command_is_complete(capsys: pytest.CaptureFixture[str]) -> None:
    say_next("anabranch promote r1")
    assert capsys.readouterr().err == "next      anabranch promote r1 --project 'my shop' --context prod\n"


def test_an_error_names_the_command_with_the_options_of_the_one_that_failed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["init", str(tmp_path / "shop")]) == 0
    capsys.readouterr()
    here = ["--project", str(tmp_path / "shop")]
    assert main(["live", "status", "nosuch", "-o", "json", *here]) == 2
    assert json.loads(capsys.readouterr().err)["error"]["command"] == f"anabranch check --project {tmp_path / 'shop'}"
    assert main(["live", "status", "nosuch"]) != 0, "the options of an earlier command are forgotten"
    assert str(tmp_path) not in capsys.readouterr().err


def test_lines_and_tables_name_the_contract_of_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    words = "turns green by: anabranch rehearse -f CONTRACT"
    say(words)
    assert capsys.readouterr().err == "turns green by: anabranch rehearse -f contracts/fix.yaml\n"
    print_facts(stdout(), [("to fix", words)])
    assert "anabranch rehearse -f contracts/fix.yaml" in capsys.readouterr().out
