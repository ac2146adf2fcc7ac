"""A promotion target whose calls all fail; a test overrides the methods that the tested code may call."""

from __future__ import annotations

from collections.abc import Collection
from typing import ClassVar

from anabranch.plan.target_range import TargetPart
from anabranch.promote.capabilities import Capabilities
from anabranch.promote.ports import CommitNote, TargetHistory
from anabranch.replay.staging import Staging
from anabranch.runs.heads import Head


def head_of(number: int) -> Head:
    """A head with this number; not a bare number, since code may not read one in it."""
    return Head(f"h{number}")


class UncalledTarget:
    """`PromotionTarget`; every call fails the test."""

    capabilities: ClassVar[Capabilities]

    def history_since(self, base: Head, partitions: TargetPart) -> TargetHistory:
        raise AssertionError("its history was read")

    def find_commit(self, commit_id: str) -> Head | None:
        raise AssertionError("a commit was looked up")

    def promote(self, history: TargetHistory, keep: Collection[str], staging: Staging, note: CommitNote) -> Head:
        raise AssertionError("a run was promoted")

    def rollback(self, staging: Staging, note: CommitNote) -> Head:
        raise AssertionError("a run was rolled back")

    def request_live_pause(self, run: str, until: int) -> None:
        raise AssertionError("live was asked to pause")

    def release_live_pause(self, run: str) -> None:
        raise AssertionError("live was released from a pause")
