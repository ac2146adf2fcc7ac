"""Which Java is found, and what is said when it will not do: with real scripts on a PATH of our own."""

from __future__ import annotations

from pathlib import Path

import pytest

from anabranch.adapters.jvm.java import JavaMissingError, JavaUnsupportedError, find_java, install_command


def fake_java(folder: Path, says: str, exit_code: int = 0) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    script = folder / "java"
    script.write_text(f"#!/bin/sh\ncat >&2 <<'END'\n{says}\nEND\nexit {exit_code}\n")
    script.chmod(0o755)
    return script


@pytest.mark.parametrize(
    ("says", "major"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('java version "21" 2023-09-19 LTS', 21),
        ('Picked up JAVA_TOOL_OPTIONS: -Dx=1\nopenjdk version "17.0.2" 2022-01-18', 17),
    ],
)
def test_a_suitable_java_on_the_path_is_found(says: str, major: int, tmp_path: Path) -> None:
    script = fake_java(tmp_path, says)
    found = find_java({"PATH": f"{tmp_path}:/usr/bin:/bin"})
    assert (found.executable, found.major) == (script, major)


def test_java_home_goes_before_the_path(tmp_path: Path) -> None:
    fake_java(tmp_path / "path", 'openjdk version "17.0.1"')
    script = fake_java(tmp_path / "home" / "bin", 'openjdk version "21.0.1"')
    found = find_java({"PATH": f"{tmp_path / 'path'}:/bin", "JAVA_HOME": str(tmp_path / "home")})
    assert (found.executable, found.major, found.home) == (script, 21, (tmp_path / "home").resolve())


def test_links_are_followed_to_the_home(tmp_path: Path) -> None:
    script = fake_java(tmp_path / "jdk" / "bin", 'openjdk version "17.0.1"')
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "java").symlink_to(script)
    assert find_java({"PATH": f"{tmp_path / 'links'}:/bin"}).home == (tmp_path / "jdk").resolve()


def test_no_java_is_told_with_the_command_that_installs_one(tmp_path: Path) -> None:
    with pytest.raises(JavaMissingError) as missing:
        find_java({"PATH": str(tmp_path)})
    assert "java is not on the PATH" in missing.value.what
    assert missing.value.remedy == install_command()


def test_a_java_home_without_java_is_named(tmp_path: Path) -> None:
    fake_java(tmp_path / "path", 'openjdk version "17.0.1"')
    with pytest.raises(JavaMissingError, match=r"JAVA_HOME=.*nowhere"):
        find_java({"PATH": str(tmp_path / "path"), "JAVA_HOME": str(tmp_path / "nowhere")})


@pytest.mark.parametrize(
    ("says", "told"),
    [
        ('openjdk version "11.0.20" 2023-07-18', "is Java 11"),
        ('java version "1.8.0_392"', "is Java 8"),
        ('openjdk version "25" 2025-09-16', "is Java 25"),
        ("no such thing", "of an unknown version"),
    ],
)
def test_a_java_that_will_not_do_is_told_by_its_version(says: str, told: str, tmp_path: Path) -> None:
    fake_java(tmp_path, says)
    with pytest.raises(JavaUnsupportedError) as wrong:
        find_java({"PATH": f"{tmp_path}:/bin"})
    assert told in wrong.value.what
    assert install_command() in wrong.value.remedy


def test_a_java_that_can_not_be_run_is_no_traceback(tmp_path: Path) -> None:
    broken = tmp_path / "java"
    broken.write_bytes(b"\x7fELF not really")
    broken.chmod(0o755)
    with pytest.raises(JavaUnsupportedError, match="of an unknown version"):
        find_java({"PATH": str(tmp_path)})


@pytest.mark.parametrize(("platform", "command"), [("darwin", "brew"), ("linux", "apt-get")])
def test_the_command_suits_the_machine(platform: str, command: str) -> None:
    assert command in install_command(platform)
    assert "17" in install_command(platform)
