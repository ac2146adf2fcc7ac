"""Under which key the compiled functions are cached: anything that they are compiled against makes another one."""

from __future__ import annotations

from pathlib import Path

import pytest

from anabranch.adapters.jvm.artifacts import ArtifactCache, locked
from anabranch.adapters.jvm.java import Java, find_java
from anabranch.adapters.spark.native import functions
from anabranch.adapters.spark.native.functions import functions_jar, functions_key

JAVA = Java(Path("/usr/bin/java"), 17)
ICEBERG, KAFKA = "iceberg-spark-runtime-4.0_2.13-1.11.0.jar", "kafka-clients-3.9.1.jar"


def jar(folder: Path, name: str, content: bytes = b"classes") -> Path:
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(content)
    return folder / name


@pytest.fixture
def spark(tmp_path: Path) -> list[Path]:
    return [jar(tmp_path / "spark", "spark-sql_2.13-4.0.2.jar")]


def test_other_jars_another_java_and_other_sources_make_another_key(
    tmp_path: Path, spark: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = [jar(tmp_path / "a", ICEBERG), jar(tmp_path / "a", KAFKA)]
    keys = [
        functions_key(JAVA, spark, first),
        functions_key(JAVA, spark, [jar(tmp_path / "b", ICEBERG, b"patched"), first[1]]),
        functions_key(JAVA, spark, [first[0], jar(tmp_path / "b", "kafka-clients-4.3.1.jar")]),
        functions_key(JAVA, spark, first[:1]),
        functions_key(JAVA, [jar(tmp_path / "other", "spark-sql_2.13-4.0.3.jar")], first),
        functions_key(Java(JAVA.executable, 21), spark, first),
    ]
    jar(tmp_path / "java", "Other.java", b"class Other {}")
    monkeypatch.setattr(functions, "SOURCES", tmp_path / "java")
    keys.append(functions_key(JAVA, spark, first))
    assert len(set(keys)) == len(keys)


def test_the_same_jars_in_another_folder_have_the_same_key(tmp_path: Path, spark: list[Path]) -> None:
    here, there = ([jar(tmp_path / name, ICEBERG)] for name in ("a", "b"))
    assert functions_key(JAVA, spark, here) == functions_key(JAVA, spark, there)


def test_locked_jars_count_by_their_checksum_without_being_read(
    tmp_path: Path, spark: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANABRANCH_CACHE", str(tmp_path / "nothing here"))
    paths = [ArtifactCache().path(each) for each in locked("spark")]
    assert functions_key(JAVA, spark, paths) != functions_key(JAVA, spark, paths[1:])


def test_a_jar_is_found_under_its_key(tmp_path: Path) -> None:
    beside = [jar(tmp_path / "jars", ICEBERG)]
    key = functions_key(find_java(), functions._spark_jars(), beside)
    made = tmp_path / "functions" / key / "anabranch-functions.jar"
    made.parent.mkdir(parents=True)
    made.touch()
    assert functions_jar(find_java(), beside, tmp_path) == made
