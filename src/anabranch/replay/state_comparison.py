"""What two states of a stream have in common, key by key: live's and a replay's, or two of live's."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from anabranch.errors import NOTHING_CHANGED, AnabranchError, ExitCode


@dataclass(frozen=True)
class Held:
    """The state that a checkpoint holds after one of its batches."""

    name: str
    path: Path
    batch: int
    position: Mapping[int, int]
    """The first offset of each partition that is not in it."""
    watermark: int

    @property
    def place(self) -> tuple[dict[int, int], int]:
        """Two of the same place have read the same events and closed the same windows."""
        return dict(self.position), self.watermark

    def document(self) -> dict[str, Any]:
        offsets = {str(p): offset for p, offset in sorted(self.position.items())}
        return {"name": self.name, "batch": self.batch, "offsets": offsets, "watermark": self.watermark}


class CheckpointUnknownError(AnabranchError):
    code = "checkpoint.unknown"
    exit_code = ExitCode.USAGE


class StateFinder(Protocol):
    def __call__(self, name: str) -> Sequence[Held]:
        """The states of every batch under this name, oldest first: live's checkpoint, or a run's. Empty: unknown."""


def find_pair(pipeline: str, find: StateFinder, a: str, b: str) -> tuple[Held, Held]:
    """Both states. A run's is taken at the other's position, if the run has a batch there; otherwise its last.

    Raises CheckpointUnknownError for a name that has no state.
    """
    ours, theirs = (_known(pipeline, find, name) for name in (a, b))
    alike = [(one, other) for one in ours for other in theirs if one.place == other.place]
    return alike[-1] if alike else (ours[-1], theirs[-1])


def _known(pipeline: str, find: StateFinder, name: str) -> Sequence[Held]:
    found = find(name)
    if not found:
        raise CheckpointUnknownError(
            f"Pipeline {pipeline} has no stream checkpoint {name!r}.",
            state=NOTHING_CHANGED,
            command=f"anabranch checkpoints {pipeline}",
            hint="Name a stream checkpoint that the command lists, or a stream-faithful run that is not closed",
            name=name,
        )
    return found


@dataclass(frozen=True)
class KeyDifference:
    """A key and its value on both sides, as JSON text; None: that side has no such key."""

    key: str
    a: str | None
    b: str | None

    def document(self) -> dict[str, Any]:
        return {name: None if text is None else json.loads(text) for name, text in vars(self).items()}


@dataclass(frozen=True)
class StoreComparison:
    operator: int
    store: str
    same: int
    different: int
    only_a: int
    only_b: int
    first: tuple[KeyDifference, ...]
    """Some of the keys that are not the same."""

    def document(self) -> dict[str, Any]:
        counts = {name: getattr(self, name) for name in ("operator", "store", "same", "different", "only_a", "only_b")}
        return {**counts, "first": [each.document() for each in self.first]}


@dataclass(frozen=True)
class StateComparison:
    a: Held
    b: Held
    stores: tuple[StoreComparison, ...]

    @property
    def agree(self) -> bool:
        return all(not (each.different or each.only_a or each.only_b) for each in self.stores)

    @property
    def same_place(self) -> bool:
        """Whether they can be expected to agree."""
        return self.a.place == self.b.place

    def document(self) -> dict[str, Any]:
        return {
            "a": self.a.document(),
            "b": self.b.document(),
            "same_place": self.same_place,
            "agree": self.agree,
            "stores": [each.document() for each in self.stores],
        }
