"""The pace of a run: what limits its replay now, for `status` and metrics."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.create_table(
        "pace",
        sa.Column("run_id", sa.Text, sa.ForeignKey("runs.id"), primary_key=True),
        sa.Column("at", sa.Text, nullable=False),
        sa.Column("details", sa.Text, nullable=False),
    )
