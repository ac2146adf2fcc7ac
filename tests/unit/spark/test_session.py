"""How Spark's JVM is asked for: never with two collectors, with which Java does not start."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest
from tests.fixtures.spark import SparkForTests

from anabranch.adapters.spark.session.session import COLLECTOR, PATIENT_COMPILER, java_options

BY_ENVIRONMENT = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")


@pytest.fixture(autouse=True)
def nothing_said(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in BY_ENVIRONMENT:
        monkeypatch.delenv(name, raising=False)


def test_where_the_driver_does_the_work_it_has_the_collector_for_it() -> None:
    assert COLLECTOR in java_options(local=True)
    assert COLLECTOR not in java_options(local=False)


@pytest.mark.parametrize("name", BY_ENVIRONMENT)
def test_a_collector_that_the_environment_names_is_left_alone(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "-Xlog:gc -Dx=1")
    assert COLLECTOR in java_options(local=True), "only the log of collections is asked for"
    monkeypatch.setenv(name, "-XX:+UseSerialGC")
    assert COLLECTOR not in java_options(local=True)


@pytest.mark.parametrize("name", BY_ENVIRONMENT)
def test_a_compiler_that_the_environment_chooses_is_left_alone(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    assert set(PATIENT_COMPILER) <= set(java_options(local=True))
    assert not set(PATIENT_COMPILER) & set(java_options(local=False))
    monkeypatch.setenv(name, "-XX:TieredStopAtLevel=1")
    assert not set(PATIENT_COMPILER) & set(java_options(local=True))


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_a_session_leaves_interrupts_to_the_command() -> None:
    """As they were before the session: Python's own, or ignored where the run is in the background."""
    assert signal.getsignal(signal.SIGINT) in (signal.default_int_handler, signal.SIG_IGN)


@pytest.mark.spark
def test_files_of_this_machine_are_created_without_starting_a_process(spark: SparkForTests, tmp_path: Path) -> None:
    """Permissions are those that Hadoop's own file system gives, checksums included."""
    jvm: Any = spark.session._jvm
    settings = spark.session.sparkContext._jsc.hadoopConfiguration()
    files = jvm.org.apache.hadoop.fs.FileSystem.get(jvm.java.net.URI("file:///"), settings)
    assert files.getClass().getName() == "anabranch.LocalFiles"
    stock = jvm.org.apache.hadoop.fs.LocalFileSystem()
    stock.initialize(jvm.java.net.URI("file:///"), settings)
    modes = []
    for name, system in (("ours", files), ("stock", stock)):
        folder = tmp_path / name / "below"
        system.create(jvm.org.apache.hadoop.fs.Path(str(folder / "file"))).close()
        modes.append([(each.name, each.stat().st_mode) for each in (folder, *sorted(folder.iterdir()))])
    assert modes[0] == modes[1]
    assert len(modes[0]) == 3
    kind = jvm.org.apache.hadoop.fs.permission.FsPermission
    for mode in (0o600, 0o1777, 0o755):
        files.setPermission(jvm.org.apache.hadoop.fs.Path(str(tmp_path / "ours")), kind(mode))
        assert (tmp_path / "ours").stat().st_mode & 0o7777 == mode
