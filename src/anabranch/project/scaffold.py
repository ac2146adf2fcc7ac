"""Creates a new project: all files or none, and never overwrites a file."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from anabranch.errors import NOTHING_CHANGED, AnabranchError, ExitCode

_NAME = re.compile("[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_PLACEHOLDER = "__PROJECT__"


class CannotInitError(AnabranchError):
    code = "project.cannot-init"
    exit_code = ExitCode.USAGE


class InitFailedError(AnabranchError):
    code = "project.init-failed"


@dataclass(frozen=True)
class NewProject:
    """The files to write, and where."""

    name: str
    folder: Path
    files: dict[str, str]


def plan_project(folder: Path, name: str | None) -> NewProject:
    """The files to write. Raises CannotInitError for an invalid name and for files that would be overwritten."""
    folder = folder.expanduser().absolute()
    chosen = name if name is not None else folder.resolve().name
    if not _NAME.fullmatch(chosen):
        better = re.sub("[^a-z0-9]+", "-", chosen.lower()).strip("-")[:63].strip("-") or "my-project"
        raise CannotInitError(
            f"{chosen!r} is not a project name: only lower-case letters, digits and hyphens, 63 at most.",
            state=NOTHING_CHANGED,
            command=f"anabranch init {folder} --name {better}",
        )
    if folder.exists() and not folder.is_dir():
        raise CannotInitError(f"{folder} is a file, not a folder.", state=NOTHING_CHANGED, command="anabranch init DIR")
    contents = {path: text.replace(_PLACEHOLDER, chosen) for path, text in _template().items()}
    taken = sorted(path for path in contents if _lexists(folder / path) or _blocked(folder, path))
    if taken:
        raise CannotInitError(
            f"{folder} already contains {', '.join(taken)}.",
            state="No file was written.",
            hint="choose another folder, or remove these files",
            taken=taken,
        )
    return NewProject(chosen, folder, contents)


def write_project(project: NewProject) -> None:
    """Write the files. If one can't be written, those already written are removed."""
    written: list[Path] = []
    try:
        for path, text in project.files.items():
            target = project.folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("x", encoding="utf-8", newline="\n") as stream:
                written.append(target)
                stream.write(text)
    except OSError as error:
        for target in written:
            target.unlink(missing_ok=True)
        raise InitFailedError(
            f"Writing the project to {project.folder} failed.",
            state="Files written by this command were removed. Existing files are unchanged.",
            hint="free disk space or choose a writable folder, then repeat the command",
        ) from error


def _template() -> dict[str, str]:
    """Every file of a new project, by its path.

    Files that would affect this repository (Python, .gitignore) are stored with the suffix `.in`.
    """
    root = Path(__file__).parent / "template"
    files = sorted(path for path in root.rglob("*") if path.is_file() and path.suffix != ".pyc")
    return {path.relative_to(root).as_posix().removesuffix(".in"): path.read_text(encoding="utf-8") for path in files}


def _lexists(path: Path) -> bool:
    return path.is_symlink() or path.exists()


def _blocked(folder: Path, path: str) -> bool:
    """Whether a parent of the path exists and is not a folder."""
    return any(_lexists(folder / above) and not (folder / above).is_dir() for above in Path(path).parents)
