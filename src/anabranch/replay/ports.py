"""What the replay of a run asks of the world outside: gates, an engine that writes slices, a look at isolation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from anabranch.gates.cleared import ClearedPlan
from anabranch.replay.replayer import SliceWriter


class ReplayGates(Protocol):
    def clear_for_replay(self) -> ClearedPlan:
        """The plan, if no gate blocks it; raises GateClosedError otherwise. Acknowledged red gates are on record."""


class ReplayEngine(Protocol):
    """Runs transforms over slices."""

    def start(self, phase: Callable[[str], None], /) -> object:
        """Be ready to load code and write slices; idempotent. `phase` is told what takes time."""

    def writer(self, notice: Callable[[str], object]) -> SliceWriter:
        """The writer of the run's own slices. Loads the user's code. Raises if that can't be loaded.

        `notice` shows a line, such as why a faster writer is not used.
        """

    def control_writer(self) -> SliceWriter:
        """The writer of the control's slices, by the code that the plan pins. Raises if that can't be loaded."""

    def cancel_jobs(self) -> None:
        """End what the engine waits for. A slice whose commit was made meanwhile is found in staging later."""


CheckpointCopier = Callable[[int, int], object]
"""Has live's checkpoint ready for an epoch (first argument), cut after so many staged slices (second). Idempotent."""


class IsolationObserver(Protocol):
    def __call__(self) -> Mapping[str, object]:
        """Consumer groups, their offsets and the ACLs of what live reads, as they are now. Changes nothing."""
