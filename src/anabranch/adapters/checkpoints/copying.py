"""Copies a checkpoint as of one of its batches, atomically, with hard links where the file system supports them."""

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
"""A state file of one version. Batch N writes version N + 1."""
_LOG_ENTRY = re.compile(r"\d+")
_NO_LINKS = frozenset({errno.EXDEV, errno.EPERM, errno.EMLINK, errno.ENOTSUP, errno.EOPNOTSUPP})


class CheckpointIncompleteError(AnabranchError):
    code = "checkpoint.incomplete"
    exit_code = ExitCode.REFUSED


@contextmanager
def create_folder(target: Path) -> Iterator[Path]:
    """Yield a temporary folder that is renamed to `target` at the end, so that a crash leaves no incomplete
    `target`."""
    temporary = target.with_name(f".{target.name}.new")
    if temporary.exists():
        shutil.rmtree(temporary)
    temporary.mkdir(parents=True)
    yield temporary
    temporary.rename(target)


def copy_up_to(source: Path, target: Path, batch: int) -> None:
    """Fill the folder `target` with the checkpoint as of the end of `batch`.

    Raises CheckpointIncompleteError if the batch is not committed or its state is missing. Spark never changes an
    existing file, so a hard link is as good as a copy. Later batches may run during the copy: the files that Spark
    deletes then are older than those needed.
    """
    if not is_committed(source, batch):
        raise _incomplete(source, batch, "Spark has not committed the batch")
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
        # Spark has deleted an old version during the copy. _require_state checks that the needed one is there.
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        shutil.copy2(source, target)


def _require_state(source: Path, state: Path, batch: int) -> None:
    """Raise CheckpointIncompleteError unless every state store has the version of the batch."""
    for folder, _, names in os.walk(state):
        versions = {_version(name) for name in names} - {0}
        if versions and batch + 1 not in versions:
            raise _incomplete(source, batch, f"{Path(folder).relative_to(state)} has no state of the batch")


def _incomplete(source: Path, batch: int, reason: str) -> CheckpointIncompleteError:
    return CheckpointIncompleteError(
        f"Checkpoint {source} cannot be copied as of batch {batch}: {reason}.",
        state=NOTHING_CHANGED,
        hint="`anabranch checkpoints PIPELINE` lists the stored checkpoints",
        checkpoint=str(source),
        batch=batch,
    )
