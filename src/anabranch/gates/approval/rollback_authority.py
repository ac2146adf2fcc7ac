"""Requires rollback authority: a user in the roles or the contract, or an override with a recorded reason."""

from __future__ import annotations

from anabranch.gates.approval.roles import ROLLBACK_OVERRIDE, needs_override, not_rollback_authority
from anabranch.project.sections.approval import RoleSettings
from anabranch.runs.run_lease import RunLease


def require_rollback_authority(lease: RunLease, roles: RoleSettings, override: str | None) -> None:
    """Raise NotRollbackAuthorityError unless the lease's actor is named, or gives `override`, which is recorded."""
    # The raw document: a missing file of the contract must not prevent a rollback.
    authority = str(lease.reader.documents(lease.run_id).contract["spec"]["rollback"]["authority"])  # type: ignore[index]
    if not needs_override(roles, authority, lease.actor):
        return
    if override is None:
        raise not_rollback_authority(roles, authority, lease.actor, lease.run)
    details = {"reason": override, "named": [*roles.rollback, authority]}
    lease.writer.record_act(ROLLBACK_OVERRIDE, actor=lease.actor, run_id=lease.run_id, details=details)
