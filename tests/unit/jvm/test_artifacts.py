"""Jars pinned by checksum: fetched from a real repository on this machine, refused when their bytes are others."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tests.fixtures.project import no_connection

from anabranch.adapters.jvm.artifacts import (
    Artifact,
    ArtifactCache,
    ArtifactCorruptError,
    ArtifactUnavailableError,
    bundles,
    cache_folder,
    locked,
)

JAR = b"PK\x03\x04" + bytes(range(256)) * 64
PATH = "/org/example/thing/1.0/thing-1.0.jar"
THING = Artifact("org.example:thing:1.0", hashlib.sha256(JAR).hexdigest(), len(JAR))


@dataclass
class Repository:
    """A Maven repository over HTTP on the loopback address."""

    url: str
    files: dict[str, bytes] = field(default_factory=dict)
    cut_short: bool = False
    request: list[str] = field(default_factory=list)


@pytest.fixture
def repository() -> Iterator[Repository]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            served.request.append(self.path)
            content = served.files.get(self.path)
            self.send_response(404 if content is None else 200)
            self.send_header("Content-Length", str(len(content or b"")))
            self.end_headers()
            self.wfile.write((content or b"")[: 100 if served.cut_short else None])

        def log_message(self, *_arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    served = Repository(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield served
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def cache(tmp_path: Path, repository: Repository) -> ArtifactCache:
    return ArtifactCache(tmp_path / "cache", {"here": repository.url})


def files_below(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_a_jar_with_the_locked_bytes_is_kept(cache: ArtifactCache, repository: Repository) -> None:
    repository.files[PATH] = JAR

    (path,) = cache.fetch([THING])

    assert path.read_bytes() == JAR
    assert files_below(cache.folder) == [path]
    assert (cache.missing([THING]), cache.corrupt([THING])) == ([], [])


def test_a_jar_with_a_classifier_is_asked_for_by_its_whole_name(cache: ArtifactCache, repository: Repository) -> None:
    repository.files[PATH.replace("1.0.jar", "1.0-test.jar")] = JAR
    tests = Artifact("org.example:thing:1.0:test", THING.sha256, len(JAR))

    (path,) = cache.fetch([tests])

    assert path.name == "thing-1.0-test.jar"


def test_other_bytes_are_refused_and_leave_nothing(cache: ArtifactCache, repository: Repository) -> None:
    repository.files[PATH] = JAR[:-1] + b"!"

    with pytest.raises(ArtifactCorruptError) as refused:
        cache.fetch([THING])

    assert refused.value.fields["expected"] == THING.sha256
    assert files_below(cache.folder) == []
    assert cache.missing([THING]) == [THING]


def test_a_download_cut_short_leaves_nothing(cache: ArtifactCache, repository: Repository) -> None:
    repository.files[PATH], repository.cut_short = JAR, True

    with pytest.raises(ArtifactUnavailableError):
        cache.fetch([THING])

    assert files_below(cache.folder) == []
    repository.cut_short = False
    assert cache.fetch([THING])[0].read_bytes() == JAR


def test_a_jar_that_is_nowhere_is_told_with_its_coordinates(cache: ArtifactCache) -> None:
    with pytest.raises(ArtifactUnavailableError, match="org\\.example:thing:1\\.0"):
        cache.fetch([THING])
    assert files_below(cache.folder) == []


def test_a_repository_that_is_away_is_told_as_such(tmp_path: Path) -> None:
    cache = ArtifactCache(tmp_path, {"away": "http://127.0.0.1:9"})
    with pytest.raises(ArtifactUnavailableError) as away:
        cache.fetch([THING])
    assert "dev fetch" in away.value.remedy


def test_no_network_is_used_for_what_is_here(cache: ArtifactCache, repository: Repository) -> None:
    repository.files[PATH] = JAR
    cache.fetch([THING])
    repository.request.clear()

    with no_connection():
        (path,) = cache.fetch([THING])

    assert path.read_bytes() == JAR
    assert repository.request == []


def test_progress_is_told_of_every_byte(cache: ArtifactCache, repository: Repository) -> None:
    from collections.abc import Callable
    from contextlib import contextmanager

    repository.files[PATH] = JAR
    told: list[tuple[str, int]] = []

    @contextmanager
    def progress(name: str, size: int) -> Iterator[Callable[[int], None]]:
        yield lambda count: told.append((f"{name} of {size}", count))

    cache.fetch([THING], progress)

    assert {name for name, _ in told} == {f"thing-1.0.jar of {len(JAR)}"}
    assert sum(count for _, count in told) == len(JAR)


def test_a_flipped_byte_is_found(cache: ArtifactCache, repository: Repository) -> None:
    repository.files[PATH] = JAR
    (path,) = cache.fetch([THING])
    damaged = bytearray(JAR)
    damaged[5000] ^= 1
    path.write_bytes(damaged)

    assert cache.corrupt([THING]) == [THING]


def test_every_locked_jar_has_coordinates_checksum_and_size() -> None:
    assert set(bundles()) >= {"kafka", "spark"}
    for bundle in bundles():
        for jar in locked(bundle):
            assert jar.coordinate.count(":") in (2, 3), jar
            assert len(bytes.fromhex(jar.sha256)) == 32, jar
            assert jar.size > 0, jar


def test_no_bundle_has_two_versions_of_one_jar() -> None:
    for bundle in bundles():
        names = [jar.coordinate.split(":")[:2] + jar.coordinate.split(":")[3:] for jar in locked(bundle)]
        assert len(names) == len({tuple(name) for name in names}), bundle


@pytest.mark.parametrize(
    ("environment", "folder"),
    [
        ({"ANABRANCH_CACHE": "/a", "XDG_CACHE_HOME": "/b"}, Path("/a")),
        ({"ANABRANCH_CACHE": "", "XDG_CACHE_HOME": "/b"}, Path("/b/anabranch")),
        ({}, Path.home() / ".cache" / "anabranch"),
    ],
)
def test_where_jars_are_kept(environment: dict[str, str], folder: Path) -> None:
    assert cache_folder(environment) == folder
