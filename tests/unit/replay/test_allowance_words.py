"""One line for people: what limits a replay, by whom and why."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

import anabranch
from anabranch.replay.allowance import STANDSTILL, UNLIMITED, Allowance
from anabranch.replay.allowance_words import SOURCES, allowance_of, hold_words, limit_words, notice_words
from anabranch.replay.pacing import details_of

GOVERNOR = Allowance("governor", "live lag 41 s, target 10 s", 5_000_000)
QUEUED = Allowance("budget", "2nd of 3", STANDSTILL, paused=True)
NAMED = re.compile(r'(?:(?:Allowance|PolledSource)\(|^SOURCE = |source: str = )"([a-z]+)"', re.MULTILINE)


@pytest.mark.parametrize(
    ("allowance", "words"),
    [
        (GOVERNOR, "5.0 MB/s by the governor: live lag 41 s, target 10 s"),
        (replace(GOVERNOR, bytes_per_second=65_536), "65.5 kB/s by the governor: live lag 41 s, target 10 s"),
        (replace(GOVERNOR, bytes_per_second=None), "no limit by the governor: live lag 41 s, target 10 s"),
        (replace(GOVERNOR, paused=True), "next slice held by the governor: live lag 41 s, target 10 s"),
        (QUEUED, "reading stopped by the replay budget: 2nd of 3"),
        (Allowance("throttle", "until noon", STANDSTILL), "1 B/s by an operator: until noon"),
        (UNLIMITED, "no limit applies"),
    ],
)
def test_a_limit_names_rate_source_and_reason(allowance: Allowance, words: str) -> None:
    assert limit_words(allowance) == words


def test_a_notice_is_a_sentence() -> None:
    assert notice_words(GOVERNOR) == "Rate 5.0 MB/s by the governor: live lag 41 s, target 10 s"
    assert notice_words(QUEUED) == "Reading stopped by the replay budget: 2nd of 3"
    assert notice_words(replace(GOVERNOR, bytes_per_second=None)).startswith("No limit by the governor")


def test_a_hold_names_who_holds() -> None:
    assert hold_words(QUEUED) == "held by the replay budget: 2nd of 3"


def test_what_a_process_notes_reads_as_its_allowance() -> None:
    assert [allowance_of(details_of(each)) for each in (GOVERNOR, QUEUED)] == [GOVERNOR, QUEUED]


def test_every_source_of_the_code_has_a_phrase() -> None:
    code = "\n".join(each.read_text(encoding="utf-8") for each in Path(anabranch.__file__).parent.rglob("*.py"))
    named = set(NAMED.findall(code)) - {"none"}
    assert named >= {"governor", "veto", "schedule", "pause", "budget", "impact", "contract"}
    assert named <= set(SOURCES)
