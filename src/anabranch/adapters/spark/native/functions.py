"""Anabranch's functions in Spark's generated code: Java sources, compiled with the compiler that Spark ships.

No JDK is required: Spark compiles its generated code with the same compiler.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import zipfile
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pyspark
from pyspark.find_spark_home import _find_spark_home
from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from anabranch.adapters.jvm.artifacts import ArtifactCache, cache_folder, digest, locked
from anabranch.adapters.jvm.java import Java
from anabranch.errors import NOTHING_CHANGED, AnabranchError

SOURCES = Path(__file__).with_name("java")
CATALOG = "anabranch_functions"
"""The name under which Spark finds them."""
OPTIONS = {f"spark.sql.catalog.{CATALOG}": "anabranch.Functions"}
_COMPILER = "org.codehaus.commons.compiler.samples.CompilerDemo"
_PATIENCE = 120


class FunctionsNotCompiledError(AnabranchError):
    code = "spark.functions-not-compiled"


def json_function(name: str, schema: StructType, zone: str, value: Column) -> Column:
    """The function's result, a struct of the schema. `zone` is for timestamps without one."""
    return function(name, zone, schema.json(), given=(value,))


def function(*name: str, given: Sequence[Column]) -> Column:
    """The result of a function by its name in the catalog."""
    quoted = (f"`{part.replace('`', '``')}`" for part in (CATALOG, *name))
    return F.call_function(".".join(quoted), *given)


def functions_jar(java: Java, jars: Sequence[Path], folder: Path | None = None) -> Path:
    """The jar with the functions, compiled against Spark's jars and `jars` unless the cache has it."""
    key = functions_key(java, _spark_jars(), jars)
    jar = (folder or cache_folder()) / "functions" / key / "anabranch-functions.jar"
    if not jar.is_file():
        try:
            _make(java, _sources(), jars, jar)
        except (OSError, subprocess.SubprocessError) as error:
            raise _not_compiled(str(error), "make the cache folder writable, or set ANABRANCH_CACHE") from error
    return jar


def functions_key(java: Java, spark_jars: Sequence[Path], jars: Sequence[Path]) -> str:
    """The cache key of the compiled classes: sources, Java, Spark and every jar that they are compiled against.

    Classes compiled against another Iceberg or Kafka client would load, and fail during a slice. Spark's jars are
    identified by name and size, because there are hundreds; `jars` by checksum.
    """
    cache = ArtifactCache()
    checksums = {cache.path(each): each.sha256 for each in locked("spark")}
    parts = [
        f"java {java.major}",
        f"pyspark {pyspark.__version__}",
        *(f"{each.name} {each.stat().st_size}" for each in spark_jars),
        *(f"{each.name} {checksums.get(each) or digest(each)}" for each in jars),
        *(f"{each.name} {digest(each)}" for each in _sources()),
    ]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _sources() -> list[Path]:
    return sorted(SOURCES.rglob("*.java"))


def _spark_jars() -> list[Path]:
    home = Path(_find_spark_home())  # type: ignore[no-untyped-call]
    return sorted((home / "jars").glob("*.jar"))


def _make(java: Java, sources: list[Path], jars: Sequence[Path], jar: Path) -> None:
    """Atomic, because two processes may compile at the same time."""
    jar.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=jar.parent, prefix=".compile-") as scratch:
        made = Path(scratch) / jar.name
        _pack(_compile(java, sources, jars, Path(scratch) / "classes"), made)
        made.replace(jar)


def _compile(java: Java, sources: list[Path], jars: Sequence[Path], classes: Path) -> Path:
    classes.mkdir()
    own = _spark_jars()
    known = os.pathsep.join(str(each) for each in (*own, *jars))
    command: list[str | Path] = [
        java.executable,
        "-cp",
        os.pathsep.join(str(each) for each in own),
        _COMPILER,
        "-d",
        classes,
        "-classpath",
        known,
        *sources,
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE, check=False)
    if done.returncode or not any(classes.rglob("*.class")):
        raise _not_compiled(
            done.stderr or done.stdout, "run `anabranch doctor`; SPARK_HOME may name another Spark installation"
        )
    return classes


def _not_compiled(why: str, hint: str) -> FunctionsNotCompiledError:
    return FunctionsNotCompiledError(
        f"The functions for Spark could not be compiled: {' '.join(why.split())[:500]}",
        state=NOTHING_CHANGED,
        hint=hint,
    )


def _pack(classes: Path, jar: Path) -> None:
    with zipfile.ZipFile(jar, "w", zipfile.ZIP_DEFLATED) as packed:
        for each in sorted(classes.rglob("*.class")):
            packed.write(each, each.relative_to(classes))
