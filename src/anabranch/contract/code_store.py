"""Stores each version of the code that live has run, by digest, so that a control replay can run it again."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree

from pydantic import ValidationError

from anabranch.contract.code import code_digest, code_files
from anabranch.contract.pipeline import Pipeline
from anabranch.errors import NOTHING_CHANGED, AnabranchError, ExitCode
from anabranch.project.atomic_write import atomic_write
from anabranch.project.model import Surroundings, as_plain

PIPELINE = "pipeline.json"
FILES = "files"


class CodeNotStoredError(AnabranchError):
    code = "code.not-stored"
    exit_code = ExitCode.REFUSED


class StoredCodeChangedError(AnabranchError):
    code = "code.stored-changed"
    exit_code = ExitCode.CONFLICT


@dataclass(frozen=True)
class StoredCode:
    """One version: the transform's files in their own folder, and the pipeline as declared with them."""

    digest: str
    folder: Path
    pipeline: Pipeline


@dataclass(frozen=True)
class CodeStore:
    """The versions of one pipeline, each in a folder named by its digest."""

    folder: Path
    pipeline: str

    @classmethod
    def below(cls, state: Path, pipeline: str) -> CodeStore:
        return cls(state / "live" / pipeline / "code", pipeline)

    def keep(self, project: Path, pipeline: Pipeline) -> str:
        """Store the current files and return their digest. Idempotent."""
        contents = {file.relative_to(project): file.read_bytes() for file in code_files(project, pipeline)}
        aside = self.folder / f".{os.getpid()}.new"
        rmtree(aside, ignore_errors=True)  # left by a crashed process with the same pid
        for name, content in contents.items():
            copy = aside / FILES / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(content)
        # The digest of the copies, not of the project: a file saved meanwhile would make it wrong.
        digest = code_digest(aside / FILES, pipeline)
        version = self.folder / digest
        if (version / FILES).is_dir():
            rmtree(aside)
        else:
            version.mkdir(exist_ok=True)
            (aside / FILES).rename(version / FILES)
            aside.rmdir()
        atomic_write(version / PIPELINE, json.dumps(as_plain(pipeline), indent=2, ensure_ascii=False) + "\n")
        return digest

    @property
    def digests(self) -> tuple[str, ...]:
        """Digests of all stored versions, oldest first."""
        files = [path for path in self.folder.glob(f"*/{PIPELINE}") if not path.parent.name.startswith(".")]
        return tuple(path.parent.name for path in sorted(files, key=lambda path: (path.stat().st_mtime_ns, path)))

    def find(self, digest: str) -> str:
        """The digest of the only version with this prefix. Raises CodeNotStoredError if there is none, or several."""
        matches = [each for each in self.digests if each.startswith(digest)]
        if len(matches) != 1:
            known = ", ".join(each[:12] for each in self.digests) or "none"
            reason = f"{len(matches)} versions match" if matches else f"stored versions: {known}"
            raise CodeNotStoredError(
                f"Code version {digest[:12]} of pipeline {self.pipeline} was not found ({reason}).",
                state=NOTHING_CHANGED,
                command=f"anabranch live keep {self.pipeline} --from FOLDER",
                hint="check out the former revision of the project to FOLDER, for example with git worktree, and "
                "store it",
                digest=digest,
            )
        return matches[0]

    def load(self, digest: str) -> StoredCode:
        """The version with this digest. Raises CodeNotStoredError, and StoredCodeChangedError if its files differ."""
        whole = self.find(digest)
        folder = (self.folder / whole / FILES).resolve()
        try:
            document = json.loads((self.folder / whole / PIPELINE).read_text(encoding="utf-8"))
            pipeline = Pipeline.model_validate(document, context=Surroundings(folder))
            same = code_digest(folder, pipeline) == whole
        except (OSError, ValueError, ValidationError) as error:
            raise self._changed(whole) from error
        if not same:
            raise self._changed(whole)
        return StoredCode(whole, folder, pipeline)

    def _changed(self, digest: str) -> StoredCodeChangedError:
        folder = self.folder / digest
        return StoredCodeChangedError(
            f"The files in {folder} have changed: their digest is no longer {digest[:12]}.",
            state=NOTHING_CHANGED,
            command=f"anabranch live keep {self.pipeline} --from FOLDER",
            hint=f"remove {folder}, check out the former revision of the project to FOLDER and store it again",
            digest=digest,
        )
