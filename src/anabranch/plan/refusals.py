"""The base of all refusals of the planner."""

from __future__ import annotations

from typing import Any

from anabranch.errors import AnabranchError, ExitCode


class PlanRefusedError(AnabranchError):
    """The contract, or the state of topic or table, forbids the plan. Planning has no side effects."""

    code = "plan.refused"
    exit_code = ExitCode.REFUSED

    def __init__(
        self,
        what: str,
        *,
        command: str | None = None,
        hint: str | None = None,
        state: str = "No run was created.",
        **fields: Any,
    ) -> None:
        super().__init__(what, state=state, command=command, hint=hint, **fields)
