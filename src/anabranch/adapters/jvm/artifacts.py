"""The jars of Kafka and Spark, pinned by checksum in artifacts.json, downloaded once and cached."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from anabranch.errors import AnabranchError

LOCK = Path(__file__).with_name("artifacts.json")

Progress = Callable[[str, int], AbstractContextManager[Callable[[int], None]]]
"""Called with a file name and its size; yields a function to call with the number of bytes received."""

_STATE = "No jar was replaced and no process was started."


@dataclass(frozen=True)
class Artifact:
    """One jar: Maven coordinates, checksum and size."""

    coordinate: str
    """group:artifact:version[:classifier]"""
    sha256: str
    size: int

    @property
    def filename(self) -> str:
        _, name, version, *classifier = self.coordinate.split(":")
        return "-".join([name, version, *classifier]) + ".jar"


class ArtifactUnavailableError(AnabranchError):
    code = "artifact.unavailable"


class ArtifactCorruptError(AnabranchError):
    code = "artifact.corrupt"


def locked(bundle: str) -> tuple[Artifact, ...]:
    """The jars of one bundle (`kafka` or `spark`), in classpath order."""
    return tuple(Artifact(**row) for row in json.loads(LOCK.read_text())[bundle])


def bundles() -> tuple[str, ...]:
    return tuple(json.loads(LOCK.read_text()))


def cache_folder(environment: Mapping[str, str] | None = None) -> Path:
    """The folder shared by all projects: ANABRANCH_CACHE, or `anabranch` in the user's cache folder."""
    env = os.environ if environment is None else environment
    if env.get("ANABRANCH_CACHE"):
        return Path(env["ANABRANCH_CACHE"])
    return Path(env.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "anabranch"


class ArtifactCache:
    """A folder of verified jars. A jar is moved into it only after its checksum was verified.

    `repositories` are Maven repositories by name, tried in order; None for Maven Central.
    """

    def __init__(self, folder: Path | None = None, repositories: Mapping[str, str] | None = None) -> None:
        self.folder = (folder or cache_folder()) / "jars"
        self._repositories = None if repositories is None else dict(repositories)

    def path(self, artifact: Artifact) -> Path:
        return self.folder / artifact.sha256[:16] / artifact.filename

    def missing(self, artifacts: Sequence[Artifact]) -> list[Artifact]:
        return [a for a in artifacts if not self.path(a).is_file()]

    def corrupt(self, artifacts: Sequence[Artifact]) -> list[Artifact]:
        """Cached jars with a wrong checksum."""
        return [a for a in artifacts if self.path(a).is_file() and digest(self.path(a)) != a.sha256]

    def fetch(self, artifacts: Sequence[Artifact], progress: Progress | None = None) -> list[Path]:
        """Paths of these jars, after downloading missing ones. Needs no network if all are cached."""
        for artifact in self.missing(artifacts):
            self._download(artifact, progress or _no_progress)
        return [self.path(a) for a in artifacts]

    def _download(self, artifact: Artifact, progress: Progress) -> None:
        from jgo.maven import MavenContext, PythonResolver

        self.folder.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=self.folder, prefix=".fetch-") as scratch:
            maven = MavenContext(
                repo_cache=Path(scratch),
                remote_repos=self._repositories,
                timeout=60,
                resolver=PythonResolver(progress_callback=progress),
            )
            group, name, version, *classifier = artifact.coordinate.split(":")
            component = maven.project(group, name).at_version(version)
            try:
                fetched = maven.resolver.download(component.artifact(*classifier))
            except (OSError, RuntimeError) as error:
                raise ArtifactUnavailableError(
                    f"Download of {artifact.coordinate} failed.",
                    state=_STATE,
                    command="anabranch dev fetch",
                    hint="Check the network, or the proxy in HTTPS_PROXY, then download again",
                    coordinate=artifact.coordinate,
                ) from error
            if fetched is None or digest(fetched) != artifact.sha256:
                raise ArtifactCorruptError(
                    f"Checksum mismatch of {artifact.coordinate}: the downloaded jar is not the pinned one.",
                    state=_STATE,
                    command="anabranch dev fetch",
                    hint="Download again; if the checksum still differs, do not use this repository",
                    coordinate=artifact.coordinate,
                    expected=artifact.sha256,
                )
            self.path(artifact).parent.mkdir(exist_ok=True)
            fetched.replace(self.path(artifact))


def digest(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        hasher = hashlib.sha256()
        while chunk := file.read(1 << 20):
            hasher.update(chunk)
    return hasher.hexdigest()


@contextmanager
def _no_progress(_name: str, _size: int) -> Iterator[Callable[[int], None]]:
    with nullcontext():
        yield lambda _bytes: None
