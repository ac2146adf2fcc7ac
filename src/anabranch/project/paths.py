"""Paths in a project's files stay inside the project, after symbolic links are followed."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Annotated

from pydantic import AfterValidator, ValidationInfo

from anabranch.project.model import surroundings
from anabranch.project.refusals import refuse


class OutsideError(ValueError):
    """The path leads out of the project."""


def inside(folder: Path, text: str) -> Path:
    """The path below `folder`, or OutsideError: no absolute path, no `..`, no link that leads away."""
    pure = PurePosixPath(text)
    if not text.strip() or any(ord(character) < 32 for character in text):
        raise OutsideError("it is not a path")
    if pure.is_absolute() or text.startswith("~") or "\\" in text:
        raise OutsideError("it is not relative to the project")
    if ".." in pure.parts:
        raise OutsideError("`..` leads upwards")
    path = folder / pure
    try:
        resolved, root = path.resolve(), folder.resolve()
    except (OSError, RuntimeError):
        raise OutsideError("its links lead in a circle") from None
    if not resolved.is_relative_to(root):
        raise OutsideError("a symbolic link leads out of the project")
    return path


def _confined(text: str, info: ValidationInfo) -> str:
    try:
        inside(surroundings(info).folder, text)
    except OutsideError as outside:
        raise refuse(f"this path is outside the project: {outside}", "a path below the project's folder") from None
    return text


def _file(text: str, info: ValidationInfo) -> str:
    try:
        there = (surroundings(info).folder / text).is_file()
    except OSError:  # a name longer than the file system allows
        there = False
    if not there:
        raise refuse(f"there is no file {text!r} in the project", "the path of a file, from the project's folder")
    return text


ProjectPath = Annotated[str, AfterValidator(_confined)]
"""A path inside the project, relative to its folder. Whether it exists is for its user to ask."""

ProjectFile = Annotated[str, AfterValidator(_confined), AfterValidator(_file)]
"""A file that is there, inside the project."""
