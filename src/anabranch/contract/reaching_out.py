"""Finds imports and calls by which a transform may have side effects, from its text. Nothing is run."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from anabranch.contract.determinism.transform import imported_modules
from anabranch.contract.pipeline import Pipeline

HARMLESS = frozenset(
    {
        *("__future__", "abc", "base64", "binascii", "bisect", "calendar", "collections", "contextlib", "copy"),
        *("dataclasses", "datetime", "decimal", "enum", "fractions", "functools", "hashlib", "heapq", "hmac", "html"),
        *("itertools", "json", "math", "numbers", "numpy", "operator", "random", "re", "secrets", "statistics"),
        *("string", "struct", "textwrap", "time", "types", "typing", "typing_extensions", "unicodedata", "uuid"),
        *("zlib", "zoneinfo"),
    }
)
"""Modules that only compute. Every other module is reported, whatever it does."""
HARMLESS_OF_SPARK = "pyspark.sql"
CALLS = frozenset({"open", "exec", "eval", "compile", "__import__", "input"})
ATTRIBUTES = frozenset(
    {
        *("foreach", "foreachPartition", "foreachBatch", "insertInto", "save", "saveAsTable", "write", "writeStream"),
        *("writeTo", "sql", "sparkContext", "_jvm", "_jsc"),
    }
)
"""Attributes of a DataFrame or a session that write, or lead to one that does."""
_IN_SQL = re.compile(r"\b(try_reflect|reflect|java_method)\s*\(", re.IGNORECASE)


def find_reaching_out(folder: Path, pipeline: Pipeline) -> tuple[str, ...]:
    """The places, as `file:line name`, in the transform and in every file of the project that it imports.

    No place found is evidence that the transform only returns rows. Raises UnreadableModuleError if a module is not
    valid Python, and OSError if a file can't be read.
    """
    transform = pipeline.spec.transform
    if transform.sql is not None:
        lines = (folder / transform.sql).read_text(encoding="utf-8").splitlines()
        matches = ((number, match[1]) for number, line in enumerate(lines, 1) for match in _IN_SQL.finditer(line))
        return tuple(f"{transform.sql}:{number} {name}" for number, name in matches)
    module = (transform.python or "").split(":")[0]
    return tuple(
        f"{file.relative_to(folder).as_posix()}:{line} {name}"
        for file, source in imported_modules(folder, module).items()
        for line, name in sorted(set(_in_module(ast.parse(source), module.split(".")[0])))
    )


def _in_module(tree: ast.AST, own: str) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        match node:
            case ast.Import():
                yield from ((node.lineno, alias.name) for alias in node.names if not _harmless(alias.name, own))
            case ast.ImportFrom(level=0, module=str(module)) if not _harmless(module, own):
                yield node.lineno, module
            case ast.Call(func=ast.Name(id=name)) if name in CALLS:
                yield node.lineno, name
            case ast.Attribute(attr=name) if name in ATTRIBUTES:
                yield node.lineno, name


def _harmless(module: str, own: str) -> bool:
    spark = module == HARMLESS_OF_SPARK or module.startswith(f"{HARMLESS_OF_SPARK}.")
    return spark or module.split(".")[0] in {own, *HARMLESS}
