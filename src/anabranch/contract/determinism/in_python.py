"""Finds non-deterministic calls in a Python module by its syntax tree; the module is not run."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from anabranch.contract.determinism.calls import METHODS, ONLY_WITHOUT_ARGUMENTS, PYTHON, READERS, SQL, Unpinned
from anabranch.contract.determinism.in_sql import find_in_sql

FUNCTIONS = "pyspark.sql.functions"
_WITH_SQL = frozenset({"expr", "selectExpr", "sql", "where", "filter"})
"""Calls whose text arguments are SQL."""
_BY_NAME = frozenset({"call_function", "call_udf", "getattr"})
"""Calls whose text argument is a function's name."""


def find_in_python(source: bytes, file: str) -> Iterator[Unpinned]:
    """The calls in the order of the file, each place once."""
    tree = ast.parse(source, filename=file)
    names, starred = _imports(tree)
    own = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    bare = starred - own
    called = {id(node.func): node for node in ast.walk(tree) if isinstance(node, ast.Call)}
    calls: dict[tuple[int, str], Unpinned] = {}
    for node in ast.walk(tree):
        for each in _at(node, file, names, bare, called.get(id(node))):
            calls.setdefault((each.line, each.name), each)
    yield from sorted(calls.values(), key=lambda each: each.line)


def _at(node: ast.AST, file: str, names: dict[str, str], bare: set[str], call: ast.Call | None) -> Iterator[Unpinned]:
    if isinstance(node, ast.Name | ast.Attribute):
        dotted = _dotted(node, names, bare)
        yield from _known(dotted, file, node.lineno, call)
        # `.sample` as an attribute may belong to any object; called, it is nearly always a DataFrame's.
        if isinstance(node, ast.Attribute) and call is not None and node.attr in METHODS:
            yield Unpinned(file, node.lineno, node.attr, METHODS[node.attr])
        # `spark.read.parquet` has an attribute after `read`; a file's `read()` is called.
        base = node.value if isinstance(node, ast.Attribute) else None
        if isinstance(base, ast.Attribute) and base.attr in READERS:
            yield Unpinned(file, node.lineno, base.attr, READERS[base.attr])
    if isinstance(node, ast.Call):
        yield from _in_arguments(node, file)


def _known(dotted: str, file: str, line: int, call: ast.Call | None) -> Iterator[Unpinned]:
    package, _, name = dotted.rpartition(".")
    if package.startswith(FUNCTIONS) and name in SQL:
        if not (name in ONLY_WITHOUT_ARGUMENTS and (call is None or call.args or call.keywords)):
            yield Unpinned(file, line, name, SQL[name])
        return
    for known, instead in PYTHON.items():
        if dotted == known or dotted.startswith(f"{known}."):
            yield Unpinned(file, line, known, instead)


def _in_arguments(call: ast.Call, file: str) -> Iterator[Unpinned]:
    called = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    for given in (*call.args, *(keyword.value for keyword in call.keywords)):
        for part in ast.walk(given) if called in _WITH_SQL | _BY_NAME else ():
            if not isinstance(part, ast.Constant) or not isinstance(part.value, str):
                continue
            if called in _WITH_SQL:
                yield from find_in_sql(part.value, file, line=part.lineno)
            elif part.value in SQL and part.value not in ONLY_WITHOUT_ARGUMENTS:
                yield Unpinned(file, part.lineno, part.value, SQL[part.value])


def _imports(tree: ast.AST) -> tuple[dict[str, str], set[str]]:
    """The dotted name behind each imported name, and the names that `from pyspark.sql.functions import *` binds."""
    names: dict[str, str] = {}
    starred: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.split(".")[0]
                names[alias.asname or top] = alias.name if alias.asname else top
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                if alias.name == "*":
                    starred |= set(SQL) if node.module.startswith(FUNCTIONS) else set()
                else:
                    names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return names, starred


def _dotted(node: ast.expr, names: dict[str, str], bare: set[str]) -> str:
    """The full dotted name of an expression; empty if it has none."""
    if isinstance(node, ast.Name):
        return names.get(node.id) or (f"{FUNCTIONS}.{node.id}" if node.id in bare else "")
    if isinstance(node, ast.Attribute):
        before = _dotted(node.value, names, bare)
        return f"{before}.{node.attr}" if before else ""
    return ""
