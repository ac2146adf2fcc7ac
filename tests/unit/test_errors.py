"""The family of errors, and the exit codes that scripts rely on."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import anabranch
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


def _kinds(base: type[AnabranchError]) -> Iterator[type[AnabranchError]]:
    for kind in base.__subclasses__():
        yield kind
        yield from _kinds(kind)


@pytest.fixture(scope="module")
def kinds() -> list[type[AnabranchError]]:
    """Every error of the product: all its modules are imported first."""
    skipped = ".migrations."  # run by alembic, in its own surroundings
    for module in pkgutil.walk_packages(anabranch.__path__, "anabranch."):
        if skipped not in module.name and not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    return [kind for kind in _kinds(AnabranchError) if kind.__module__.startswith("anabranch.")]


def test_every_error_has_a_code_of_its_own(kinds: list[type[AnabranchError]]) -> None:
    shared = {code: count for code, count in Counter(kind.code for kind in kinds).items() if count > 1}
    assert len(kinds) > 30
    assert shared == {}, "a script can't tell these apart"


def test_codes_name_their_area_and_reason(kinds: list[type[AnabranchError]]) -> None:
    odd = [kind.code for kind in kinds if not re.fullmatch(r"[a-z]+(-[a-z]+)*\.[a-z]+(-[a-z]+)*", kind.code)]
    assert odd == ["unexpected"]
