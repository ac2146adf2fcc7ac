"""The `approval` and `roles` sections: approval of promotions, and who may approve, operate and roll back."""

from __future__ import annotations

from pydantic import Field

from anabranch.project.model import Part, Switch, Words
from anabranch.project.quantities import Duration

People = tuple[Words, ...]
"""Names as in ANABRANCH_ACTOR, or the machine's login."""


class ApprovalSettings(Part):
    """Approval of promotions."""

    required: Switch | None = Field(
        default=None,
        description="Whether a run must be approved by a user other than its author before promotion. "
        "If left out: yes, unless Kafka is embedded.",
        examples=[True],
    )
    lifetime: Duration = Field(
        default="7d",
        validate_default=True,
        description="How long an approval is valid.",
        examples=["7d"],
    )
    author_may_promote: Switch = Field(
        default=True,
        description="Whether the author of a run may promote it once another user has approved it.",
        examples=[False],
    )


class RoleSettings(Part):
    """Users by role. An empty list of approvers or operators allows every user.

    With an empty rollback list only the contract's rollback.authority may roll back.
    """

    approvers: People = Field(
        default=(), description="Who may approve runs of other users.", examples=[["dana@example.com"]]
    )
    operators: People = Field(
        default=(),
        description="Who may promote runs, and control or close runs of other users.",
        examples=[["shop-ops@example.com"]],
    )
    rollback: People = Field(
        default=(),
        description="Who may roll back, besides the contract's rollback.authority. Other users need --override, "
        "which is recorded.",
        examples=[["shop-oncall@example.com"]],
    )
