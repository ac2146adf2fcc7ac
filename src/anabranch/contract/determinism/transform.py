"""Finds the non-deterministic calls of a pipeline's transform, in every file of the project that it imports."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from anabranch.contract.determinism.calls import Unpinned
from anabranch.contract.determinism.in_python import find_in_python
from anabranch.contract.determinism.in_sql import find_in_sql
from anabranch.contract.pipeline import Pipeline
from anabranch.errors import NOTHING_CHANGED, AnabranchError, ExitCode


class UnreadableModuleError(AnabranchError):
    code = "transform.unreadable"
    exit_code = ExitCode.USAGE


def find_unpinned(folder: Path, pipeline: Pipeline) -> tuple[Unpinned, ...]:
    """Every non-deterministic call, allowed or not. Reads files and runs none of them."""
    transform = pipeline.spec.transform
    if transform.sql is not None:
        columns = frozenset(name.lower() for name in pipeline.spec.source.columns)
        text = (folder / transform.sql).read_text(encoding="utf-8")
        return tuple(find_in_sql(text, transform.sql, columns=columns))
    return tuple(
        call
        for file, source in imported_modules(folder, (transform.python or "").split(":")[0]).items()
        for call in find_in_python(source, file.relative_to(folder).as_posix())
    )


def imported_modules(folder: Path, module: str) -> dict[Path, bytes]:
    """The module's file and every file of the project that it imports, with their contents.

    Raises UnreadableModuleError if one of them is not valid Python.
    """
    modules: dict[Path, bytes] = {}
    _collect(folder, module, modules)
    return modules


def _collect(folder: Path, module: str, modules: dict[Path, bytes]) -> None:
    """Add the module's file and those of its own top folder that it imports, in import order."""
    top = module.split(".")[0]
    file = _file(folder, module)
    if file is None or file in modules:
        return
    modules[file] = source = file.read_bytes()
    package = module if file.name == "__init__.py" else module.rpartition(".")[0]
    if package and package != module:
        _collect(folder, package, modules)
    for name in _imported(_parsed(source, file.relative_to(folder).as_posix()), package):
        if name.split(".")[0] == top:
            _collect(folder, name, modules)


def _parsed(source: bytes, file: str) -> ast.AST:
    try:
        return ast.parse(source, filename=file)
    except (SyntaxError, ValueError, RecursionError) as error:
        line = f":{error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
        raise UnreadableModuleError(
            f"{file}{line}, which the transform imports, is not valid Python: {error}.",
            state=NOTHING_CHANGED,
            hint=f"correct {file}",
            file=file,
        ) from error


def _imported(tree: ast.AST, package: str) -> Iterator[str]:
    """Every name that may be a module: of `from a import b` both a and a.b."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            # One dot is the package itself, each further one the package above.
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join(filter(None, (*above, node.module)))
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)


def _file(folder: Path, module: str) -> Path | None:
    base = folder.joinpath(*module.split("."))
    candidates = (base / "__init__.py", base.with_name(f"{base.name}.py"))
    return next((path for path in candidates if path.is_file()), None)
