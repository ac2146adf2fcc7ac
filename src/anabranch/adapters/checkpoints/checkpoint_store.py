"""Stores copies of live's checkpoint to replay from: one folder with a manifest each, created atomically."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from anabranch.adapters.checkpoints.copying import copy_up_to, create_folder
from anabranch.errors import NOTHING_CHANGED, AnabranchError
from anabranch.plan.strategies.stream_start import StreamCheckpoint
from anabranch.project.atomic_write import atomic_write

MANIFEST = "anabranch.json"


class CheckpointUnreadableError(AnabranchError):
    code = "checkpoint.unreadable"


def checkpoint_name(query: str, batch: int) -> str:
    return f"{batch}-{query[:8]}"


@dataclass(frozen=True)
class CheckpointStore:
    folder: Path

    @classmethod
    def of(cls, state: Path, pipeline: str) -> CheckpointStore:
        """The store of a pipeline in the project's state folder."""
        return cls(state.resolve() / "live" / pipeline / "checkpoints")

    def path(self, name: str) -> Path:
        return self.folder / name

    def all(self) -> tuple[StreamCheckpoint, ...]:
        """Newest first."""
        folders = self.folder.iterdir() if self.folder.is_dir() else ()
        manifests = (_read(folder) for folder in folders if not folder.name.startswith("."))
        return tuple(sorted(manifests, key=lambda each: (each.at, each.batch), reverse=True))

    def find(self, name: str) -> StreamCheckpoint | None:
        return next((each for each in self.all() if each.name == name), None)

    def keep(self, checkpoint: Path, manifest: StreamCheckpoint) -> None:
        """Copy live's checkpoint as of the manifest's batch. Idempotent. No later batch may be running."""
        target = self.path(manifest.name)
        if target.exists():
            return
        with create_folder(target) as temporary:
            copy_up_to(checkpoint, temporary, manifest.batch)
            atomic_write(temporary / MANIFEST, json.dumps(manifest.document(), indent=2) + "\n")

    def drop_before(self, moment: datetime) -> None:
        """Remove checkpoints stored before this moment, and incomplete folders left by a crash."""
        for each in self.all():
            if each.at < moment:
                self.path(each.name).rename(self.folder / f".{each.name}.gone")
        for left in self.folder.glob(".*"):
            shutil.rmtree(left)


def _read(folder: Path) -> StreamCheckpoint:
    try:
        return StreamCheckpoint.read(json.loads((folder / MANIFEST).read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CheckpointUnreadableError(
            f"The manifest of checkpoint {folder} is not readable.",
            state=NOTHING_CHANGED,
            hint=f"Remove the folder {folder}; replays then start from another checkpoint",
            checkpoint=str(folder),
        ) from error
