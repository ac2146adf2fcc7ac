"""The checkpoints of live that are kept to replay from: each a folder with a manifest, there whole or not at all."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from anabranch.adapters.checkpoints.copying import copy_cut, made_whole
from anabranch.errors import NOTHING_CHANGED, AnabranchError
from anabranch.plan.strategies.stream_start import StreamCheckpoint
from anabranch.project.atomic_write import atomic_write

MANIFEST = "anabranch.json"


class KeptUnreadableError(AnabranchError):
    code = "checkpoint.unreadable"


def checkpoint_name(query: str, batch: int) -> str:
    return f"{batch}-{query[:8]}"


@dataclass(frozen=True)
class KeptCheckpoints:
    folder: Path

    @classmethod
    def of(cls, state: Path, pipeline: str) -> KeptCheckpoints:
        """Those of a pipeline, below the project's state folder."""
        return cls(state.resolve() / "live" / pipeline / "checkpoints")

    def path(self, name: str) -> Path:
        return self.folder / name

    def all(self) -> tuple[StreamCheckpoint, ...]:
        """Newest first."""
        folders = self.folder.iterdir() if self.folder.is_dir() else ()
        found = (_read(folder) for folder in folders if not folder.name.startswith("."))
        return tuple(sorted(found, key=lambda each: (each.at, each.batch), reverse=True))

    def find(self, name: str) -> StreamCheckpoint | None:
        return next((each for each in self.all() if each.name == name), None)

    def keep(self, checkpoint: Path, manifest: StreamCheckpoint) -> None:
        """Copy live's checkpoint as it was after the manifest's batch. No later batch may have begun to work."""
        target = self.path(manifest.name)
        if target.exists():
            return
        with made_whole(target) as aside:
            copy_cut(checkpoint, aside, manifest.batch)
            atomic_write(aside / MANIFEST, json.dumps(manifest.document(), indent=2) + "\n")

    def drop_before(self, moment: datetime) -> None:
        """Remove those that were kept before this moment, and what crashes have left half made or half removed."""
        for each in self.all():
            if each.at < moment:
                self.path(each.name).rename(self.folder / f".{each.name}.gone")
        for left in self.folder.glob(".*"):
            shutil.rmtree(left)


def _read(folder: Path) -> StreamCheckpoint:
    try:
        return StreamCheckpoint.read(json.loads((folder / MANIFEST).read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise KeptUnreadableError(
            f"The kept checkpoint {folder} does not say what it is.",
            state=NOTHING_CHANGED,
            hint=f"remove the folder {folder}: replays then start from another one",
            checkpoint=str(folder),
        ) from error
