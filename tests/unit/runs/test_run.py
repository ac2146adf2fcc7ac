"""What a run is submitted with: names that can be read back, and used in the names of branches."""

from __future__ import annotations

import pytest

from anabranch.runs.ranges import TargetRange
from anabranch.runs.run import NewRun, RunFault


def new_run(**changes: str) -> NewRun:
    words = {"id": "r1", "pipeline": "orders", "contract_hash": "c", "plan_hash": "p", "author": "ada", **changes}
    return NewRun(target=TargetRange("lake.orders"), contract={}, plan={}, **words)


@pytest.mark.parametrize("run_id", ["", "-r", "R1", "r/1", "r 1", "ü", "r" * 65, "r1\n"])
def test_a_run_id_that_could_not_name_a_branch_is_refused(run_id: str) -> None:
    with pytest.raises(ValueError, match="a run id is"):
        new_run(id=run_id)


@pytest.mark.parametrize("field", ["pipeline", "contract_hash", "plan_hash", "author"])
@pytest.mark.parametrize("value", ["", "a\0b", "a\x1b[2Jb", "a\nb"])
def test_names_are_readable(field: str, value: str) -> None:
    with pytest.raises(ValueError, match=field):
        new_run(**{field: value})


def test_the_words_of_a_fault_are_made_fit_for_a_database() -> None:
    assert RunFault("x.y", "a\0b \udcff é").text == "a?b ? é"
