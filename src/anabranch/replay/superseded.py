"""Ends a superseded process: it removes the staging that its epoch left, and reports that it was superseded."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from anabranch.errors import AnabranchError
from anabranch.runs.lease import SupersededError
from anabranch.runs.run_lease import RunLease
from anabranch.runs.states import State


class StrayTarget(Protocol):
    def remove_stray(self, run: str, epoch: int, *, unused: bool) -> None:
        """Remove what a process of this epoch left and a later epoch does not use; all of it if `unused`."""


@contextmanager
def superseded_leaves_nothing(lease: RunLease, target: StrayTarget) -> Iterator[None]:
    """If the block fails and the lease was taken over meanwhile, SupersededError is the error."""
    try:
        yield
    except Exception as error:
        try:
            lease.check_epoch()
        except SupersededError as superseded:
            unused = lease.run.state in (State.CLOSING, State.CLOSED)
            target.remove_stray(lease.run_id, lease.epoch, unused=unused)
            raise superseded from (None if isinstance(error, SupersededError) else error)
        except AnabranchError:
            pass  # the block's error comes before a control database that does not answer
        raise
