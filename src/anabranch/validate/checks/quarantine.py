"""Quarantine: the number of quarantined records is within the cap, and the quarantine table has all of them."""

from __future__ import annotations

from collections.abc import Sequence

from anabranch.replay.ledger import total
from anabranch.validate.result import CheckInput, CheckOutcome, Result, counted


def check(evidence: CheckInput) -> Sequence[Result]:
    cap = evidence.pipeline.spec.quarantine.max_records
    quarantined = total(account.total for account in evidence.accounts).quarantined
    in_table = evidence.measures.quarantined
    found = counted(quarantined, "record") if quarantined else "none"
    outcome = CheckOutcome.WARNED if quarantined else CheckOutcome.PASSED
    if in_table.records > quarantined:
        found += f" by the ledger, and {in_table.records:,} in the quarantine table"
        outcome = CheckOutcome.WARNED
    if in_table.records < quarantined:
        # Neither in the target nor in the quarantine table: these records would be lost.
        found += f" by the ledger, but {in_table.records:,} in the quarantine table"
        outcome = CheckOutcome.FAILED
    if quarantined > cap:
        outcome = CheckOutcome.FAILED
    return (Result("quarantine", outcome, f"at most {counted(cap, 'record')} quarantined", found, in_table.sample),)
