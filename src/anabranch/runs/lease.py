"""Who may work on a run: a lease whose epoch only grows, so that whoever was replaced can be told apart."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from anabranch.errors import NOTHING_CHANGED, AnabranchError, ExitCode


@dataclass(frozen=True)
class Lease:
    """The lease of one run. No holder means that it is free.

    The epoch decides, not the time: an expired lease which nobody has taken over still lets its holder write,
    and a lease taken over lets it write no more, whatever any clock says. The time only says when others may take it.
    """

    run_id: str
    epoch: int
    holder: str | None
    expires_at: datetime | None

    def held_by_another(self, holder: str, now: datetime) -> bool:
        """Whether `holder` has to wait. The same holder never does: a process that restarts replaces itself."""
        if self.holder is None or self.holder == holder or self.expires_at is None:
            return False
        return now < self.expires_at


class LeaseHeldError(AnabranchError):
    code = "lease.held"
    exit_code = ExitCode.CONFLICT

    def __init__(self, lease: Lease) -> None:
        expires = "" if lease.expires_at is None else lease.expires_at.isoformat()
        super().__init__(
            f"Run {lease.run_id} is being worked on by {lease.holder} (epoch {lease.epoch}) until {expires} at least.",
            state=NOTHING_CHANGED,
            hint=f"wait for it, or see `anabranch status {lease.run_id}`",
            run=lease.run_id,
            holder=lease.holder,
            epoch=lease.epoch,
            expires_at=expires,
        )


class SupersededError(AnabranchError):
    """The writer's epoch is no longer the run's: somebody took over, or the lease was given back."""

    code = "lease.superseded"
    exit_code = ExitCode.CONFLICT

    def __init__(self, lease: Lease, epoch: int) -> None:
        now = "nobody holds it now" if lease.holder is None else f"{lease.holder} holds it now"
        super().__init__(
            f"Epoch {epoch} may no longer change run {lease.run_id}: it is at epoch {lease.epoch}, and {now}.",
            state="The change was refused. Work of the present holder goes on.",
            command=f"anabranch status {lease.run_id}",
            run=lease.run_id,
            epoch=epoch,
            current_epoch=lease.epoch,
            holder=lease.holder,
        )
