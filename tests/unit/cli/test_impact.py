"""How far an experiment is, in one line, and what of its records counts."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone

from anabranch.cli.impact import progress_words
from anabranch.gates.impact.design import Design
from anabranch.readiness.impact_requests import ENDED, REQUESTED, STARTED, ImpactProgress, ImpactRequest, read_progress
from anabranch.runs.audit import AuditRecord
from anabranch.runs.canonical import instant_text

NOW = datetime(2025, 7, 1, 12, tzinfo=timezone.utc)
DESIGN = Design(12, 20.0, 5.0, seed=7)
ASKED = ImpactRequest(3, "ann", 12, None, 7)


def record(number: int, action: str, **details: object) -> AuditRecord:
    return AuditRecord(number, instant_text(NOW), "ann", "r1", action, None, None, None, json.dumps(details), "", "")


def requested(number: int) -> AuditRecord:
    return record(number, REQUESTED, **ASKED.details())


def test_the_newest_request_counts_with_what_became_of_it() -> None:
    assert read_progress([]) is None
    assert read_progress([record(1, "run.start")]) is None
    assert read_progress([requested(3)]) == ImpactProgress(ASKED)
    started = record(4, STARTED, request=3, design=DESIGN.document())
    assert read_progress([requested(3), started]) == ImpactProgress(ASKED, instant_text(NOW), DESIGN)
    ended = record(5, ENDED, request=3, blocks=24, reason=None)
    found = read_progress([requested(3), started, ended])
    assert found is not None
    assert found.ended == {"request": 3, "blocks": 24, "reason": None}
    again = read_progress([requested(3), started, requested(6), ended])
    assert again is not None
    assert (again.request.number, again.design, again.ended) == (6, None, None), "the end of an earlier one is not its"


def test_a_line_names_block_and_time_left() -> None:
    running = ImpactProgress(ASKED, instant_text(NOW), DESIGN)
    first, second = (f"block {n.number} of 24, {'with' if n.on else 'without'} the replay" for n in DESIGN.blocks[:2])
    assert progress_words(running, NOW) == f"{first}; 8 min 10 s left"
    assert progress_words(running, NOW + timedelta(seconds=25)) == f"{second}; 7 min 45 s left"
    assert "all blocks are over" in progress_words(running, NOW + timedelta(seconds=481))
    assert "observing live" in progress_words(ImpactProgress(ASKED), NOW)
