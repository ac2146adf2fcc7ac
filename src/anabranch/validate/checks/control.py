"""Control: what the corrected code changes, apart from what production's own code would make otherwise by now."""

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
        f"{counted(len(evidence.plan.slices), 'slice')}, each once, by the code {(evidence.plan.control or '')[:12]}",
        "so it is" if not imbalances else f"{counted(len(imbalances), 'reason')} why the sums don't agree",
        tuple({"where": each.where, "what": each.what} for each in imbalances[:SAMPLE]),
    )


def _fix(charges: DiffAttribution) -> Result:
    fix = charges.total.fix
    return Result(
        "changed by the fix",
        CheckOutcome.PASSED if fix else CheckOutcome.WARNED,
        "rows that production has as its code makes them, and the corrected code makes otherwise",
        unit(charges, fix) if fix else "none: the corrected code makes the same rows",
        pairs=charges.fix,
        sides=("control", "after"),
    )


def _noise(charges: DiffAttribution) -> Result:
    total = charges.total
    found = "none: production is what its code makes of these offsets"
    if total.noise:
        # A promotion replaces the range: what was put right by hand goes with what was wrong.
        found = f"{unit(charges, total.noise)}; not charged to the fix, and replaced by a promotion all the same"
        if total.both:
            found += f"; of these the corrected code changes {total.both:,} too"
    return Result(
        "noise floor",
        CheckOutcome.WARNED if total.noise else CheckOutcome.PASSED,
        "rows that production has otherwise than its own code makes them",
        found,
        pairs=charges.noise,
        sides=("production", "control"),
    )


def unit(charges: DiffAttribution, number: int) -> str:
    return counted(number, "key" if charges.paired else "row")
