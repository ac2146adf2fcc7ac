"""A version of a table as a contract names it: the id of a snapshot, as a number or as text."""

from __future__ import annotations

import pytest
from pydantic import TypeAdapter, ValidationError

from anabranch.contract.head_names import HeadName

NAMES: TypeAdapter[str] = TypeAdapter(HeadName)
LARGEST = 2**63 - 1


@pytest.mark.parametrize("value", [1, "1", LARGEST, str(LARGEST)])
def test_a_number_and_its_text_name_the_same_snapshot(value: object) -> None:
    assert NAMES.validate_python(value) == str(value)


@pytest.mark.parametrize("value", [0, -1, "007", " 7", "7\n", "7.0", 7.0, True, None, "main", "", 10**19])
def test_what_is_no_id_is_refused(value: object) -> None:
    with pytest.raises(ValidationError) as refused:
        NAMES.validate_python(value)
    assert "whole number" in str(refused.value.errors())
