"""The progress of each slice. Thread-safe."""

from __future__ import annotations

from anabranch.plan.slices import Slice
from anabranch.replay.replayer import SlicePhase, SliceProgress


class ProgressTracker:
    def __init__(self) -> None:
        self._phases: dict[str, SlicePhase] = {}

    def enter(self, slice_: Slice, phase: SlicePhase) -> None:
        self._phases[slice_.id] = phase

    def report(self, slice_: Slice, *, read: int, planned: int, bytes_read: int, throttled_ms: float) -> SliceProgress:
        """`planned` is the maximum of `read`: a second attempt reads some records again."""
        read = min(planned, read)
        phase = self._phases.get(slice_.id, SlicePhase.READ)
        if phase is SlicePhase.READ and read == planned:
            phase = SlicePhase.WRITE  # one pass reads and writes; after all is read only writing remains
        return SliceProgress(phase, read, planned, bytes_read, throttled_ms)
