"""The family of errors, and the exit codes that scripts rely on."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from tools.error_codes import DOCUMENT, documented, error_classes, unraised

from anabranch.errors import NOTHING_CHANGED, AnabranchError, ExitCode

DOCUMENTED = Path(__file__).parents[2] / "docs" / "exit-codes.md"
FROZEN = {
    "DONE": 0,
    "FAILED": 1,
    "USAGE": 2,
    "REFUSED": 3,
    "CONFLICT": 4,
    "GUARDED": 5,
    "TIMED_OUT": 6,
    "INTERRUPTED": 130,
}


class SampleError(AnabranchError):
    code = "sample.failed"
    exit_code = ExitCode.CONFLICT


def test_exit_codes_are_frozen() -> None:
    assert {code.name: code.value for code in ExitCode} == FROZEN


def test_the_table_in_the_docs_is_the_enum() -> None:
    rows = re.findall(r"^\| (\d+) \| ([a-z ]+) \|", DOCUMENTED.read_text(encoding="utf-8"), re.MULTILINE)
    documented = {name.upper().replace(" ", "_"): int(number) for number, name in rows}
    assert documented == {code.name: code.value for code in ExitCode}


def test_an_error_is_data_with_its_cause_in_the_words_of_who_raised_it() -> None:
    error = SampleError("It broke.", state=NOTHING_CHANGED, command="anabranch doctor", topic="orders")
    error.__cause__ = OSError("no route to host")
    assert error.as_dict() == {
        "code": "sample.failed",
        "exit_code": 4,
        "what": "It broke.",
        "cause": "OSError: no route to host",
        "state": NOTHING_CHANGED,
        "command": "anabranch doctor",
        "hint": None,
        "fields": {"topic": "orders"},
    }


def test_an_error_without_a_cause_claims_none() -> None:
    assert SampleError("It broke.", state=NOTHING_CHANGED, command="anabranch doctor").cause is None


def test_an_error_whose_cause_can_t_say_its_text_is_reported_all_the_same() -> None:
    """As an exception of Spark can't once its JVM has ended."""

    class MuteError(Exception):
        def __str__(self) -> str:
            raise ConnectionRefusedError

    error = SampleError("It broke.", state=NOTHING_CHANGED, command="anabranch doctor")
    error.__cause__ = MuteError()
    assert error.as_dict()["cause"] == "MuteError: (text unavailable: the JVM that held it has ended)"


@pytest.fixture(scope="module")
def kinds() -> list[type[AnabranchError]]:
    return error_classes()


def test_every_error_has_a_code_of_its_own(kinds: list[type[AnabranchError]]) -> None:
    shared = {code: count for code, count in Counter(kind.code for kind in kinds).items() if count > 1}
    assert len(kinds) > 30
    assert shared == {}, "a script can't tell these apart"


def test_codes_name_their_area_and_reason(kinds: list[type[AnabranchError]]) -> None:
    odd = [kind.code for kind in kinds if not re.fullmatch(r"[a-z]+(-[a-z]+)*\.[a-z]+(-[a-z]+)*", kind.code)]
    assert odd == ["unexpected"]


def test_the_docs_list_every_code_with_its_meaning_exit_code_and_class(kinds: list[type[AnabranchError]]) -> None:
    """`make errors` writes the page; a new code needs a meaning there."""
    listed = documented(DOCUMENT.read_text(encoding="utf-8"))
    found = {code: (exit_code, kind) for code, (_, exit_code, kind) in listed.items()}
    assert found == {kind.code: (int(kind.exit_code), kind.__name__) for kind in kinds}
    assert [code for code, (meaning, _, _) in listed.items() if not meaning] == []


def test_no_two_codes_have_one_meaning() -> None:
    listed = documented(DOCUMENT.read_text(encoding="utf-8"))
    assert [m for m, count in Counter(meaning for meaning, _, _ in listed.values()).items() if count > 1] == []


def test_every_code_is_still_raised(kinds: list[type[AnabranchError]]) -> None:
    assert unraised(kinds) == []
