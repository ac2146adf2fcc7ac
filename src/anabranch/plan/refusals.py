"""What every refusal of the planner has in common."""

from __future__ import annotations

from anabranch.errors import NOTHING_TOUCHED, AnabranchError, ExitCode


class PlanRefusedError(AnabranchError):
    """The contract can't be carried out as it is, or the world does not allow it. Planning has changed nothing."""

    code = "plan.refused"
    exit_code = ExitCode.REFUSED

    def __init__(self, what: str, *, next_step: str, untouched: str = NOTHING_TOUCHED, **fields: object) -> None:
        super().__init__(what, untouched=untouched, next_step=next_step, **fields)
