"""Spark's JVM really killed and really out of memory, each in a process of its own, as a command would see it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.long]

SCRIPT = """
import os, signal, sys
from pathlib import Path
from anabranch.adapters.jvm.artifacts import ArtifactCache, locked
from anabranch.adapters.spark.session.jvm import JvmDiedError, jvm_death_reported
from anabranch.adapters.spark.session.session import start_spark, stop_spark
from anabranch.cli.app import app
from anabranch.cli.main import main

@app.command("sample")
def sample(kind: str, wrapped: bool = False):
    jars = ArtifactCache().fetch(locked("spark"))
    spark = start_spark("t", master="local[2,4]", jars=jars, options={}, log=Path("spark.log"), driver_memory="512m")
    def act():
        if kind == "kill":
            spark.sparkContext._gateway.proc.send_signal(signal.SIGKILL)
            spark.range(5).count()
        elif kind == "memory":
            spark.range(2).selectExpr("length(repeat(cast(id as string), 1000000000)) as n").collect()
        else:
            spark.sql("select nothing from nowhere")
    try:
        if wrapped:
            with jvm_death_reported("Production is unchanged.", "anabranch retry r1"):
                act()
        else:
            act()
    finally:
        if wrapped:
            stop_spark(spark)

sys.exit(main(sys.argv[1:]))
"""


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", SCRIPT, "sample", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.parametrize("wrapped", [True, False])
@pytest.mark.parametrize(
    ("kind", "reason", "remedy"),
    [
        ("kill", "Spark's JVM died: killed by SIGKILL", "Look for `Out of memory` in `dmesg`"),
        (
            "memory",
            "Spark's JVM died: out of memory (OutOfMemoryError: Java heap space; heap 512m",
            "Set spark.driverMemory in anabranch.yaml to 1024m (now 512m)",
        ),
    ],
)
def test_the_death_of_the_jvm_is_the_error(tmp_path: Path, kind: str, reason: str, remedy: str, wrapped: bool) -> None:
    ended = run(tmp_path, kind, *(["--wrapped"] if wrapped else []))
    first, *following = ended.stderr.splitlines()
    assert (ended.returncode, reason in first) == (1, True), ended.stderr
    assert "[spark.jvm-died]" in ended.stderr
    assert "Traceback" not in ended.stderr, "nor Py4J's own"
    told = "\n".join(following)
    assert remedy in told
    assert ("anabranch retry r1" if wrapped else "anabranch list --all") in told


def test_an_error_of_a_living_jvm_stays_what_it_is(tmp_path: Path) -> None:
    ended = run(tmp_path, "query")
    assert "[unexpected]" in ended.stderr
    assert "AnalysisException" in ended.stderr
    assert "JVM died" not in ended.stderr
