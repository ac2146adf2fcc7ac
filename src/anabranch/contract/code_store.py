"""Code that live has run, kept by its digest: what production was made by can be run again after it was corrected."""

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


class CodeNotKeptError(AnabranchError):
    code = "code.not-kept"
    exit_code = ExitCode.REFUSED


class KeptCodeChangedError(AnabranchError):
    code = "code.kept-changed"
    exit_code = ExitCode.CONFLICT


@dataclass(frozen=True)
class KeptCode:
    """One version: the transform's files in a folder of their own, and the pipeline as it was declared with them."""

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
        """Keep the files as they are now, and return their digest. Again is no change."""
        contents = {file.relative_to(project): file.read_bytes() for file in code_files(project, pipeline)}
        aside = self.folder / f".{os.getpid()}.new"
        rmtree(aside, ignore_errors=True)  # of a process of that number that ended in the middle
        for name, content in contents.items():
            place = aside / FILES / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
        # Of what was written, not of the project: whoever saves a file meanwhile changes nothing here.
        digest = code_digest(aside / FILES, pipeline)
        kept = self.folder / digest
        if (kept / FILES).is_dir():
            rmtree(aside)
        else:
            kept.mkdir(exist_ok=True)
            (aside / FILES).rename(kept / FILES)
            aside.rmdir()
        atomic_write(kept / PIPELINE, json.dumps(as_plain(pipeline), indent=2, ensure_ascii=False) + "\n")
        return digest

    @property
    def digests(self) -> tuple[str, ...]:
        """Of all versions that are kept, newest last."""
        found = [path for path in self.folder.glob(f"*/{PIPELINE}") if not path.parent.name.startswith(".")]
        return tuple(path.parent.name for path in sorted(found, key=lambda path: (path.stat().st_mtime_ns, path)))

    def find(self, digest: str) -> str:
        """The one version whose digest begins so."""
        found = [each for each in self.digests if each.startswith(digest)]
        if len(found) != 1:
            known = ", ".join(each[:12] for each in self.digests) or "none"
            several = f"{len(found)} versions begin so" if found else f"kept are: {known}"
            raise CodeNotKeptError(
                f"The code {digest[:12]} of pipeline {self.pipeline} is not kept here ({several}).",
                state=NOTHING_CHANGED,
                hint="put the project as it was then into a folder (with git: `git worktree add FOLDER REVISION`) "
                f"and run `anabranch live keep {self.pipeline} --from FOLDER`",
                digest=digest,
            )
        return found[0]

    def load(self, digest: str) -> KeptCode:
        """The version of this digest, if it is there and nobody has changed it."""
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
        return KeptCode(whole, folder, pipeline)

    def _changed(self, digest: str) -> KeptCodeChangedError:
        place = self.folder / digest
        return KeptCodeChangedError(
            f"The files in {place} are not the code {digest[:12]} that they are named by.",
            state=NOTHING_CHANGED,
            hint=f"remove {place}, then `anabranch live keep {self.pipeline} --from FOLDER` with its files",
            digest=digest,
        )
