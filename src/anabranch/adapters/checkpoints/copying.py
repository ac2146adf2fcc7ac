"""Copies a checkpoint as it was after one of its batches: whole or not at all, by hard links where there are any."""

from __future__ import annotations

import errno
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from anabranch.adapters.checkpoints.log import is_committed
from anabranch.errors import NOTHING_CHANGED, AnabranchError, ExitCode

_VERSION = re.compile(r"\.?(\d+)\.(?:delta|snapshot)(?:\.crc)?")
"""A file of one version of the state. Batch N leaves version N + 1."""
_LOG_ENTRY = re.compile(r"\d+")
_NO_LINKS = frozenset({errno.EXDEV, errno.EPERM, errno.EMLINK, errno.ENOTSUP, errno.EOPNOTSUPP})


class CheckpointIncompleteError(AnabranchError):
    code = "checkpoint.incomplete"
    exit_code = ExitCode.REFUSED


@contextmanager
def made_whole(target: Path) -> Iterator[Path]:
    """A folder to fill, which takes its place only at the end: a crash leaves nothing that looks like it."""
    aside = target.with_name(f".{target.name}.new")
    if aside.exists():
        shutil.rmtree(aside)
    aside.mkdir(parents=True)
    yield aside
    aside.rename(target)


def copy_cut(source: Path, target: Path, batch: int) -> None:
    """Fill the folder `target` with what the checkpoint knew when `batch` was done, and nothing of later ones.

    Spark never writes into a file that is there, so a link is as good as a copy. The batches after it may be at work
    meanwhile, and what Spark deletes while we look is older than what is needed.
    """
    if not is_committed(source, batch):
        raise _incomplete(source, batch, "Spark has not written it down as done")
    for name in ("offsets", "commits"):
        (target / name).mkdir()
        for file in (source / name).iterdir():
            if _LOG_ENTRY.fullmatch(file.name) and int(file.name) <= batch:
                _link(file, target / name / file.name)
    _link(source / "metadata", target / "metadata")
    for name in ("sources", "state"):
        if (source / name).is_dir():
            _copy_tree(source / name, target / name, batch + 1)
    _require_state(source, target / "state", batch)


def _copy_tree(source: Path, target: Path, version: int) -> None:
    target.mkdir()
    for entry in source.iterdir():
        if entry.is_dir():
            _copy_tree(entry, target / entry.name, version)
        elif not entry.name.endswith(".tmp") and _version(entry.name) <= version:
            _link(entry, target / entry.name)


def _version(name: str) -> int:
    found = _VERSION.fullmatch(name)
    return int(found[1]) if found else 0


def _link(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except FileNotFoundError:
        if _version(source.name) == 0:
            raise
        # Spark has deleted an old version while we looked. That none is missing that counts is looked at afterwards.
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        shutil.copy2(source, target)


def _require_state(source: Path, state: Path, batch: int) -> None:
    """Every store must have the version that the batch left."""
    for folder, _, names in os.walk(state):
        versions = {_version(name) for name in names} - {0}
        if versions and batch + 1 not in versions:
            raise _incomplete(source, batch, f"{Path(folder).relative_to(state)} has no state of it")


def _incomplete(source: Path, batch: int, why: str) -> CheckpointIncompleteError:
    return CheckpointIncompleteError(
        f"The checkpoint {source} can't be copied as it was after batch {batch}: {why}.",
        state=NOTHING_CHANGED,
        hint="`anabranch checkpoints PIPELINE` lists those that are kept whole",
        checkpoint=str(source),
        batch=batch,
    )
