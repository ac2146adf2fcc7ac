"""The lease of a run. Its epoch only grows, so that a superseded process can be refused."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from anabranch.errors import NOTHING_CHANGED, AnabranchError, ExitCode


@dataclass(frozen=True)
class Lease:
    """The lease of one run. Without a holder it is free.

    The epoch decides who may write, not the clock: the holder of an expired lease may write until another process
    takes it over, and not afterwards. The expiry only decides when another process may take it.
    """

    run_id: str
    epoch: int
    holder: str | None
    expires_at: datetime | None

    def held_by_another(self, holder: str, now: datetime) -> bool:
        """Whether `holder` has to wait. The current holder never waits: a restarted process replaces itself."""
        if self.holder is None or self.holder == holder or self.expires_at is None:
            return False
        return now < self.expires_at


class LeaseHeldError(AnabranchError):
    code = "lease.held"
    exit_code = ExitCode.CONFLICT

    def __init__(self, lease: Lease) -> None:
        expires = "" if lease.expires_at is None else lease.expires_at.isoformat()
        super().__init__(
            f"Run {lease.run_id} is leased to {lease.holder} (epoch {lease.epoch}) until {expires}.",
            state=NOTHING_CHANGED,
            command=f"anabranch status {lease.run_id}",
            hint="Wait until that process has finished or its lease has expired",
            run=lease.run_id,
            holder=lease.holder,
            epoch=lease.epoch,
            expires_at=expires,
        )


class SupersededError(AnabranchError):
    """The writer's epoch is not the run's current one: another process took over, or the lease was released."""

    code = "lease.superseded"
    exit_code = ExitCode.CONFLICT

    def __init__(self, lease: Lease, epoch: int) -> None:
        now = "it has no holder" if lease.holder is None else f"its holder is {lease.holder}"
        super().__init__(
            f"Epoch {epoch} of run {lease.run_id} was superseded: the current epoch is {lease.epoch}, {now}.",
            state="The change was refused. The current holder is not affected.",
            command=f"anabranch status {lease.run_id}",
            run=lease.run_id,
            epoch=epoch,
            current_epoch=lease.epoch,
            holder=lease.holder,
        )
