"""Why a JVM ended, from its exit code and log."""

from __future__ import annotations

import pytest

from anabranch.adapters.spark.session.jvm_exit import explain_exit

HEAP = """WARNING: Using incubator modules: jdk.incubator.vector
2026-11-18T15:45:41Z spark ERROR Executor: Exception in task 1.2 in stage 0.0 (TID 3)
java.lang.OutOfMemoryError: Java heap space
\tat org.apache.spark.Foo.bar(Foo.scala:12)
\t... 3 more
"""


@pytest.mark.parametrize("code", [52, 3, None])
def test_out_of_memory_names_the_heap_and_the_setting(code: int | None) -> None:
    found = explain_exit(code, HEAP, "1g")
    assert "out of memory (OutOfMemoryError: Java heap space; heap 1g" in found.reason
    assert found.remedy == "set spark.driverMemory in anabranch.yaml to 2g (now 1g)"
    assert found.lines == (
        "2026-11-18T15:45:41Z spark ERROR Executor: Exception in task 1.2 in stage 0.0 (TID 3)",
        "java.lang.OutOfMemoryError: Java heap space",
    )


def test_spark_s_own_code_for_it_is_enough_where_the_log_is_gone() -> None:
    assert "out of memory (OutOfMemoryError; heap 512m; exit code 52)" in explain_exit(52, "", "512m").reason


@pytest.mark.parametrize("code", [-9, 137])
def test_a_kill_names_the_signal_and_the_kernel(code: int) -> None:
    found = explain_exit(code, "", "8g")
    assert "killed by SIGKILL" in found.reason
    assert "dmesg" in found.remedy
    assert "spark.driverMemory (now 8g)" in found.remedy


@pytest.mark.parametrize(("code", "name"), [(-15, "SIGTERM"), (-11, "SIGSEGV"), (134, "SIGABRT"), (-99, "signal 99")])
def test_any_other_signal_is_named(code: int, name: str) -> None:
    assert explain_exit(code, "", "1g").reason == f"killed by {name}"


def test_any_other_end_has_its_code() -> None:
    assert explain_exit(1, "", "1g").reason == "ended without a signal; exit code 1"
    assert explain_exit(50, "", "1g").reason == "uncaught exception; exit code 50"
