"""Quarantine: what was set aside is within the cap, and is really there to be looked at."""

from __future__ import annotations

from collections.abc import Sequence

from anabranch.replay.ledger import total
from anabranch.validate.result import CheckInput, CheckOutcome, Result, counted


def check(evidence: CheckInput) -> Sequence[Result]:
    cap = evidence.pipeline.spec.quarantine.max_records
    aside = total(account.total for account in evidence.accounts).quarantined
    there = evidence.measures.quarantined
    found = counted(aside, "record") if aside else "none"
    outcome = CheckOutcome.WARNED if aside else CheckOutcome.PASSED
    if there.records > aside:
        found += f" by the ledger, and {there.records:,} in the quarantine table"
        outcome = CheckOutcome.WARNED
    if there.records < aside:
        # Neither in the target nor in quarantine: nobody could ever repair them.
        found += f" by the ledger, but {there.records:,} in the quarantine table"
        outcome = CheckOutcome.FAILED
    if aside > cap:
        outcome = CheckOutcome.FAILED
    return (Result("quarantine", outcome, f"at most {counted(cap, 'record')} set aside", found, there.sample),)
