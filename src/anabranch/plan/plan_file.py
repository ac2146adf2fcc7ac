"""A plan as a file: format, hash, plan and contract, so that `apply` can verify it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anabranch.errors import AnabranchError, ExitCode
from anabranch.plan.plan import Plan, read_plan
from anabranch.plan.planner import Planned
from anabranch.plan.request import contract_hash
from anabranch.plan.steps import document_of, steps_of
from anabranch.project.atomic_write import atomic_write

FORMAT = "anabranch.plan/v1"


class PlanFileError(AnabranchError):
    """The file is not a plan, or was changed after it was written."""

    code = "plan.bad-file"
    exit_code = ExitCode.USAGE


class PlanFileUnwritableError(AnabranchError):
    code = "plan.file-unwritable"


@dataclass(frozen=True)
class PlanFile:
    plan: Plan
    contract: Mapping[str, Any]


def document_of_planned(planned: Planned) -> dict[str, Any]:
    """The document that is printed as JSON and written to a file. Only `plan` is hashed."""
    return {
        "format": FORMAT,
        "hash": planned.plan.hash,
        "plan": planned.plan.document(),
        "contract": planned.request.contract,
        "steps": [document_of(step) for step in steps_of(planned.plan)],
        "estimates": planned.estimates.document(),
        "race": None if planned.race is None else planned.race.document(),
    }


def write_plan_file(path: Path, planned: Planned) -> None:
    """Write the plan atomically."""
    text = json.dumps(document_of_planned(planned), indent=2, ensure_ascii=False) + "\n"
    try:
        atomic_write(path, text)
    except OSError as error:
        raise PlanFileUnwritableError(
            f"Writing the plan to {path} failed.",
            state="No run was created. An existing file is unchanged.",
            hint="pass --out FILE in an existing, writable folder",
            file=str(path),
        ) from error


def read_plan_file(path: Path) -> PlanFile:
    """The plan in the file. Raises PlanFileError if it can't be read or its hash does not match."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(document, dict) or document.get("format") != FORMAT:
            raise PlanFileError(f"{path} is not a plan in format {FORMAT}.", state=NO_RUN, command=_AGAIN)
        plan = read_plan(document["plan"])
        same = plan.hash == document["hash"] and contract_hash(document["contract"]) == plan.contract
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise PlanFileError(f"{path} can't be read as a plan.", state=NO_RUN, command=_AGAIN) from error
    if not same:
        raise PlanFileError(
            f"Hash mismatch in {path}: the plan or the contract was changed after it was written.",
            state=NO_RUN,
            command=_AGAIN,
        )
    return PlanFile(plan, document["contract"])


NO_RUN = "No run was created."
_AGAIN = "anabranch plan -f CONTRACT --out FILE"
