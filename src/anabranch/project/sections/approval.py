"""The `approval` and `roles` sections: who has to agree before production changes, and who may what."""

from __future__ import annotations

from pydantic import Field

from anabranch.project.model import Part, Switch, Words
from anabranch.project.quantities import Duration

People = tuple[Words, ...]
"""Names as ANABRANCH_ACTOR or the machine's login give them."""


class ApprovalSettings(Part):
    """What a promotion needs besides a validated run."""

    required: Switch | None = Field(
        default=None,
        description="Whether a run has to be approved, by somebody other than its author, before it is promoted. "
        "Left out: yes, unless Kafka is embedded.",
        examples=[True],
    )
    lifetime: Duration = Field(
        default="7d",
        validate_default=True,
        description="How long an approval counts.",
        examples=["7d"],
    )
    author_may_promote: Switch = Field(
        default=True,
        description="Whether the author of a run may promote it, once somebody else has approved it.",
        examples=[False],
    )


class RoleSettings(Part):
    """Who may what, by name. With nobody named approvers and operators are open to everybody; rollback is not."""

    approvers: People = Field(
        default=(), description="Who may approve a run, if it is not their own.", examples=[["dana@example.com"]]
    )
    operators: People = Field(
        default=(),
        description="Who may promote a run, and steer or close one that is not their own.",
        examples=[["shop-ops@example.com"]],
    )
    rollback: People = Field(
        default=(),
        description="Who may roll back, besides the contract's rollback.authority. Anybody else has to override, on "
        "record.",
        examples=[["shop-oncall@example.com"]],
    )
