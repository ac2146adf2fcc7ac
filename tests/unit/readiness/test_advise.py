"""How the code on disk relates to the codes that wrote the table, and what a rehearsal contributes to advice."""

from __future__ import annotations

import pytest

from anabranch.readiness.advise import live_code, rates_of
from anabranch.readiness.incident import LiveCode


@pytest.mark.parametrize(
    ("written_by", "expected"),
    [
        ((), LiveCode.UNKNOWN),
        (("old",), LiveCode.NOT_RESTARTED),
        (("old", "new"), LiveCode.NOT_RESTARTED),
        (("new",), LiveCode.THE_SAME),
        (("new", "old"), LiveCode.FIXED),
    ],
)
def test_the_newest_commit_decides_whether_live_runs_the_code_on_disk(
    written_by: tuple[str, ...], expected: LiveCode
) -> None:
    assert live_code(written_by, "new") is expected


def test_without_a_rehearsal_there_are_no_rates() -> None:
    assert rates_of(None) is None
