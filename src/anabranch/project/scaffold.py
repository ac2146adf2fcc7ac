"""Write a new project: all of it or nothing, and never over a file that is there."""

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
    """What will be written where."""

    name: str
    folder: Path
    files: dict[str, str]


def plan_project(folder: Path, name: str | None) -> NewProject:
    """Decide what to write. Refuses a bad name, and a folder in which anything would have to be overwritten."""
    folder = folder.expanduser().absolute()
    chosen = name if name is not None else folder.resolve().name
    if not _NAME.fullmatch(chosen):
        better = re.sub("[^a-z0-9]+", "-", chosen.lower()).strip("-")[:63].strip("-") or "my-project"
        raise CannotInitError(
            f"{chosen!r} can't be a project's name: lower-case letters, digits and hyphens only, 63 at most.",
            state=NOTHING_CHANGED,
            command=f"anabranch init {folder} --name {better}",
        )
    if folder.exists() and not folder.is_dir():
        raise CannotInitError(f"{folder} is a file.", state=NOTHING_CHANGED, hint="name a folder: anabranch init DIR")
    contents = {path: text.replace(_PLACEHOLDER, chosen) for path, text in _template().items()}
    taken = sorted(path for path in contents if _lexists(folder / path) or _blocked(folder, path))
    if taken:
        raise CannotInitError(
            f"{folder} already holds {', '.join(taken)}.",
            state=NOTHING_CHANGED + " No file is ever overwritten.",
            hint="choose another folder, or move these files away",
            taken=taken,
        )
    return NewProject(chosen, folder, contents)


def write_project(project: NewProject) -> None:
    """Write the files. If one can't be written, those written before it are taken away again."""
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
            f"The project could not be written to {project.folder}.",
            state="Files that were there before are as they were; those written by this command were removed.",
            hint="make room or choose a folder you may write to, then run the same command again",
        ) from error


def _template() -> dict[str, str]:
    """Every file of a new project, by its path.

    Those that would act on our own tree (Python, .gitignore) are kept with `.in` behind their name.
    """
    root = Path(__file__).parent / "template"
    found = sorted(path for path in root.rglob("*") if path.is_file() and path.suffix != ".pyc")
    return {path.relative_to(root).as_posix().removesuffix(".in"): path.read_text(encoding="utf-8") for path in found}


def _lexists(path: Path) -> bool:
    return path.is_symlink() or path.exists()


def _blocked(folder: Path, path: str) -> bool:
    """Whether a file stands where a folder of the project must be."""
    return any(_lexists(folder / above) and not (folder / above).is_dir() for above in Path(path).parents)
