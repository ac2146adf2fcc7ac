"""Secrets are references: shown as such, read at the moment of use, and missing with a clear word."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import pytest

from anabranch.project.secrets import Secret, SecretMissingError

CANARY = "canary-9f2c"


def test_a_variable_is_read_when_it_is_revealed_and_not_before(tmp_path: Path) -> None:
    secret = Secret.parse("${env:PASSWORD}", tmp_path)
    assert secret.reveal({"PASSWORD": "first"}) == "first"
    assert secret.reveal({"PASSWORD": "second"}) == "second"


def test_a_file_is_read_without_its_last_newline(tmp_path: Path) -> None:
    (tmp_path / "password").write_text(CANARY + "\n")
    assert Secret.parse("${file:password}", tmp_path).reveal() == CANARY
    assert Secret.parse(f"${{file:{tmp_path}/password}}", Path("/")).reveal() == CANARY


@pytest.mark.parametrize(
    ("reference", "reason"),
    [
        ("${env:PASSWORD}", "not set"),
        ("${file:nothing}", "can't be read"),
        ("${file:empty}", "is empty"),
        ("${file:.}", "can't be read"),
        ("${file:binary}", "not UTF-8"),
        ("${file:large}", "too large"),
    ],
)
def test_a_missing_secret_names_its_reference_only(tmp_path: Path, reference: str, reason: str) -> None:
    (tmp_path / "empty").write_text("\n")
    (tmp_path / "binary").write_bytes(CANARY.encode() + b"\xff")
    (tmp_path / "large").write_text(CANARY * 10_000)
    with pytest.raises(SecretMissingError) as caught:
        Secret.parse(reference, tmp_path).reveal({"OTHER": CANARY})
    assert reference in caught.value.what
    assert reason in caught.value.what
    assert CANARY not in str(caught.value.as_dict())


def test_a_variable_that_is_set_but_empty_counts_as_missing(tmp_path: Path) -> None:
    with pytest.raises(SecretMissingError):
        Secret.parse("${env:PASSWORD}", tmp_path).reveal({"PASSWORD": ""})


def test_no_form_of_it_shows_the_value(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PASSWORD", CANARY)
    secret = Secret.parse("${env:PASSWORD}", tmp_path)
    assert secret.reveal() == CANARY
    forms = [str(secret), repr(secret), f"{secret}", repr(vars(secret)), repr(copy.deepcopy(secret))]
    assert CANARY not in "".join(forms)
    assert CANARY.encode() not in pickle.dumps(secret)
