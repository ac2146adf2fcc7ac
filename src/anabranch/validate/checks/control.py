"""Control: separates what the corrected code changes from what differs between production and its own code."""

from __future__ import annotations

from collections.abc import Sequence

from anabranch.replay.ledger import conservation
from anabranch.validate.attribution import DiffAttribution
from anabranch.validate.measures import SAMPLE
from anabranch.validate.result import CheckInput, CheckOutcome, Result, counted, passed_if


def check(evidence: CheckInput) -> Sequence[Result]:
    charges = evidence.measures.charges
    if charges is None:
        return ()
    return (_complete(evidence, charges), _fix(charges), _noise(charges))


def _complete(evidence: CheckInput, charges: DiffAttribution) -> Result:
    imbalances = conservation(charges.accounts, evidence.plan.slices)
    return Result(
        "control replayed",
        passed_if(not imbalances),
        f"{counted(len(evidence.plan.slices), 'slice')}, each once, with code {(evidence.plan.control or '')[:12]}",
        "all slices, sums agree" if not imbalances else counted(len(imbalances), "imbalance"),
        tuple({"where": each.where, "what": each.what} for each in imbalances[:SAMPLE]),
    )


def _fix(charges: DiffAttribution) -> Result:
    fix = charges.total.fix
    return Result(
        "changed by the fix",
        CheckOutcome.PASSED if fix else CheckOutcome.WARNED,
        "rows where production equals the control and the corrected code differs",
        unit(charges, fix) if fix else "none: the corrected code gives the same rows",
        pairs=charges.fix,
        sides=("control", "after"),
    )


def _noise(charges: DiffAttribution) -> Result:
    total = charges.total
    found = "none: production equals the control"
    if total.noise:
        # A promotion replaces the range, including rows that were corrected by hand.
        found = f"{unit(charges, total.noise)}; not attributed to the fix; a promotion replaces them too"
        if total.both:
            found += f"; the corrected code also changes {total.both:,} of them"
    return Result(
        "noise floor",
        CheckOutcome.WARNED if total.noise else CheckOutcome.PASSED,
        "rows where production differs from the control",
        found,
        pairs=charges.noise,
        sides=("production", "control"),
    )


def unit(charges: DiffAttribution, number: int) -> str:
    return counted(number, "key" if charges.paired else "row")
