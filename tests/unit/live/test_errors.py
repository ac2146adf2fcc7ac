"""What live says of an error that is not its own."""

from __future__ import annotations

import pytest

from anabranch.live.errors import in_one_line


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("disk full", "OSError: disk full"),
        ("\n  first\nsecond", "OSError: first"),
        ("An error occurred while calling o62.sql.\n: org.x.Wrong: no lock\n\tat x", "OSError: org.x.Wrong: no lock"),
        ("", "OSError: no reason given"),
    ],
)
def test_the_reason_is_told_in_one_line(said: str, told: str) -> None:
    assert in_one_line(OSError(said)) == told
