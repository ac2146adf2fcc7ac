"""What status shows of a replay's pace."""

from __future__ import annotations

from datetime import datetime, timezone

from anabranch.replay.pace_report import pace_document, pace_lines, pace_words
from anabranch.runs.pace import Pace
from anabranch.runs.states import State

AT = datetime(2025, 6, 1, 12, tzinfo=timezone.utc)
GOVERNOR = {
    "allows": 5_000_000,
    "paused": False,
    "reason": "live lag 41 s, target 10 s: reduced",
    "live": "its driver runs on this machine",
    "signals": [{"signal": "lag", "value": 41.0, "target": 10.0, "pressure": 4.1}],
    "age_seconds": 1.2,
    "silent": {"group": "Kafka did not answer."},
}
DETAILS = {"source": "contract", "reason": "budget.bytesPerSecond", "bytes_per_second": 2_000_000, "paused": False}


def test_the_rate_its_reason_and_every_signal_are_shown() -> None:
    document = pace_document(Pace(AT, {**DETAILS, "governor": GOVERNOR}), State.REPLAYING)
    assert list(pace_lines(document)) == [
        "rate      2.0 MB/s by the contract: budget.bytesPerSecond, as of 2025-06-01T12:00:00Z",
        "governor  5.0 MB/s: live lag 41 s, target 10 s: reduced",
        "live      its driver runs on this machine",
        "signal    lag: 41.0, target 10.0, pressure 4.10, 1 s old",
        "signal    group: not read: Kafka did not answer.",
    ]


def test_a_governor_that_is_off_says_why() -> None:
    document = pace_document(Pace(AT, {**DETAILS, "governor": {"off": "by the contract: maintenance"}}), State.PAUSED)
    assert list(pace_lines(document))[1:] == ["governor  off: by the contract: maintenance"]


def test_nothing_is_shown_of_a_run_that_does_not_replay() -> None:
    assert pace_document(Pace(AT, DETAILS), State.STAGED) is None
    assert pace_document(None, State.REPLAYING) is None
    assert list(pace_lines(None)) == []


def test_the_progress_line_has_a_limit_only_if_there_is_one() -> None:
    assert pace_words(Pace(AT, DETAILS)) == "Rate 2.0 MB/s by the contract: budget.bytesPerSecond"
    assert pace_words(Pace(AT, {**DETAILS, "source": "none", "bytes_per_second": None})) is None
    assert pace_words(None) is None


def test_a_governor_that_limits_nothing_says_so_once() -> None:
    idle = {**GOVERNOR, "allows": None, "reason": "no live is seen to run", "live": "no live is seen to run"}
    lines = list(pace_lines(pace_document(Pace(AT, {**DETAILS, "governor": idle}), State.REPLAYING)))
    assert lines[1] == "governor  no limit: no live is seen to run"


def test_a_governor_that_holds_the_next_slice_names_no_rate() -> None:
    held = {**GOVERNOR, "paused": True, "reason": "lag could not be read for 301 s: no slice begins"}
    lines = list(pace_lines(pace_document(Pace(AT, {**DETAILS, "governor": held}), State.REPLAYING)))
    assert lines[1] == "governor  next slice held: lag could not be read for 301 s: no slice begins"
