"""A plan as a file: format, hash, plan and contract together, so that whoever applies it can tell it is whole."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anabranch.errors import NOTHING_CHANGED, AnabranchError, ExitCode
from anabranch.plan.plan import Plan, read_plan
from anabranch.plan.planner import Planned
from anabranch.plan.request import contract_hash
from anabranch.plan.steps import document_of, steps_of
from anabranch.project.atomic_write import atomic_write

FORMAT = "anabranch.plan/v1"


class PlanFileError(AnabranchError):
    """The file is not a plan, or not the plan that was written."""

    code = "plan.bad-file"
    exit_code = ExitCode.USAGE


class PlanFileUnwritableError(AnabranchError):
    code = "plan.file-unwritable"


@dataclass(frozen=True)
class PlanFile:
    plan: Plan
    contract: Mapping[str, Any]


def document_of_planned(planned: Planned) -> dict[str, Any]:
    """What is printed as JSON and written to a file. Only `plan` is hashed."""
    return {
        "format": FORMAT,
        "hash": planned.plan.hash,
        "plan": planned.plan.document(),
        "contract": planned.request.contract,
        "steps": [document_of(step) for step in steps_of(planned.plan)],
        "outlook": planned.outlook.document(),
    }


def write_plan_file(path: Path, planned: Planned) -> None:
    """All of it or nothing: a plan that is half there must not be found."""
    text = json.dumps(document_of_planned(planned), indent=2, ensure_ascii=False) + "\n"
    try:
        atomic_write(path, text)
    except OSError as error:
        raise PlanFileUnwritableError(
            f"The plan could not be written to {path}.",
            state=NOTHING_CHANGED + " A file that was there before is as it was.",
            hint="name a file in a folder that is there and may be written to: --out FILE",
            file=str(path),
        ) from error


def read_plan_file(path: Path) -> PlanFile:
    """The plan in the file, if it is whole and nobody has edited it."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(document, dict) or document.get("format") != FORMAT:
            raise PlanFileError(f"{path} is not a plan of the format {FORMAT}.", state=NOTHING_CHANGED, hint=_AGAIN)
        plan = read_plan(document["plan"])
        same = plan.hash == document["hash"] and contract_hash(document["contract"]) == plan.contract
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise PlanFileError(f"{path} can't be read as a plan.", state=NOTHING_CHANGED, hint=_AGAIN) from error
    if not same:
        raise PlanFileError(
            f"{path} was changed after it was written: its hash is not that of what it says.",
            state=NOTHING_CHANGED,
            hint=_AGAIN,
        )
    return PlanFile(plan, document["contract"])


_AGAIN = "anabranch plan -f CONTRACT --out FILE"
