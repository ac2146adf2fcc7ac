"""Quarantine: what was set aside is within the cap, and is really there to be looked at."""

from __future__ import annotations

from collections.abc import Sequence

from anabranch.replay.ledger import total
from anabranch.validate.result import Evidence, Outcome, Result, counted


def check(evidence: Evidence) -> Sequence[Result]:
    cap = evidence.pipeline.spec.quarantine.max_records
    aside = total(account.total for account in evidence.accounts).quarantined
    there = evidence.measures.quarantined
    found = counted(aside, "record") if aside else "none"
    outcome = Outcome.WARNED if aside else Outcome.PASSED
    if there.records > aside:
        found += f" by the ledger, and {there.records:,} in the quarantine table"
        outcome = Outcome.WARNED
    if there.records < aside:
        # Neither in the target nor in quarantine: nobody could ever repair them.
        found += f" by the ledger, but {there.records:,} in the quarantine table"
        outcome = Outcome.FAILED
    if aside > cap:
        outcome = Outcome.FAILED
    return (Result("quarantine", outcome, f"at most {counted(cap, 'record')} set aside", found, there.sample),)
