"""What every refusal of the planner has in common."""

from __future__ import annotations

from typing import Any

from anabranch.errors import NOTHING_CHANGED, AnabranchError, ExitCode


class PlanRefusedError(AnabranchError):
    """The contract can't be carried out as it is, or the world does not allow it. Planning has changed nothing."""

    code = "plan.refused"
    exit_code = ExitCode.REFUSED

    def __init__(
        self,
        what: str,
        *,
        command: str | None = None,
        hint: str | None = None,
        state: str = NOTHING_CHANGED,
        **fields: Any,
    ) -> None:
        super().__init__(what, state=state, command=command, hint=hint, **fields)
