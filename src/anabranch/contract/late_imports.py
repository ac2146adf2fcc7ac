"""Finds imports of project modules inside functions, which run late and possibly on a worker."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from anabranch.contract.code import code_files
from anabranch.contract.pipeline import Pipeline


def find_late_imports(folder: Path, pipeline: Pipeline) -> tuple[str, ...]:
    """The places, as file:line. Files are read, not run."""
    if pipeline.spec.transform.python is None:
        return ()
    top = pipeline.spec.transform.python.split(":")[0].split(".")[0]
    return tuple(
        f"{file.relative_to(folder).as_posix()}:{line}"
        for file in code_files(folder, pipeline)
        if file.suffix == ".py"
        for line in sorted(set(_late(ast.parse(file.read_bytes(), filename=file.name), top)))
    )


def _late(tree: ast.AST, top: str) -> Iterator[int]:
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    for function in functions:
        for node in ast.walk(function):
            if isinstance(node, ast.Import) and any(alias.name.split(".")[0] == top for alias in node.names):
                yield node.lineno
            if isinstance(node, ast.ImportFrom) and (node.level or (node.module or "").split(".")[0] == top):
                yield node.lineno
