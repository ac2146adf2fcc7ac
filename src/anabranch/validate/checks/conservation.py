"""Conservation: every offset of the plan has one fate, the sums agree, and all written rows are staged."""

from __future__ import annotations

from collections.abc import Sequence

from anabranch.replay.ledger import Account, conservation, total
from anabranch.validate.measures import SAMPLE
from anabranch.validate.result import CheckInput, Result, counted, passed_if


def check(evidence: CheckInput) -> Sequence[Result]:
    sums = total(account.total for account in evidence.accounts)
    if evidence.plan.strategy.whole_table:
        # Written rows replace existing ones, so the number of staged rows does not show how many were written.
        return (_offsets(evidence, sums),)
    return (_offsets(evidence, sums), _rows(evidence, sums))


def _offsets(evidence: CheckInput, sums: Account) -> Result:
    imbalances = conservation(evidence.accounts, evidence.plan.slices)
    found = [f"{counted(sums.offsets, 'offset')} accounted for"]
    if imbalances:
        found.append(counted(len(imbalances), "imbalance"))
    if sums.lost:
        # The sums agree, but the range is incomplete: a promotion would delete rows that cannot be replayed.
        found.append(f"{counted(sums.lost, 'offset')} lost to retention")
    planned = sum(slice_.width for slice_ in evidence.plan.slices)
    return Result(
        "conservation",
        passed_if(not imbalances and not sums.lost),
        f"{counted(len(evidence.plan.slices), 'slice')}, each once; {counted(planned, 'offset')}, none lost",
        "; ".join(found),
        tuple({"where": each.where, "what": each.what} for each in imbalances[:SAMPLE]),
    )


def _rows(evidence: CheckInput, sums: Account) -> Result:
    staged = evidence.measures.staged.total.rows
    return Result(
        "rows written",
        passed_if(staged == sums.rows),
        f"{counted(sums.rows, 'row')} by the ledger",
        f"{counted(staged, 'row')} in staging",
    )
