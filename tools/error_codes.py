"""Writes docs/errors.md, the table of every error code: `make errors`.

Code, class and exit code come from the source. The meaning is written by hand in the document and kept; a new code
starts with the first line of its class's docstring. `tests/unit/test_errors.py` fails while the page is out of date.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import anabranch
from anabranch.errors import AnabranchError

ROOT = Path(__file__).parents[1]
DOCUMENT = ROOT / "docs" / "errors.md"
ROW = re.compile(r"^\| `(?P<code>[^`]+)` \| (?P<meaning>.*?) \| (?P<exit>\d+) \| `(?P<kind>\w+)` \|$", re.MULTILINE)
HEAD = """# Error codes

Look up a code that a command printed in brackets, or match it in a script: codes are stable, messages are not.
[Exit codes](exit-codes.md) explains the numbers. With `-o json` an error is one line of JSON on stderr with its `code`.
`make errors` writes this page from the source; the meanings are edited here.

| code | meaning | exit code | class |
|---|---|---|---|
"""


def error_classes() -> list[type[AnabranchError]]:
    """Every error of the package, by code. Imports all its modules."""
    for module in pkgutil.walk_packages(anabranch.__path__, "anabranch."):
        # Migrations are run by alembic, in an environment of its own.
        if ".migrations." not in module.name and not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    found = {kind for kind in _below(AnabranchError) if kind.__module__.startswith("anabranch.")}
    return sorted(found, key=lambda kind: (kind.code, kind.__name__))


def unraised(kinds: list[type[AnabranchError]]) -> list[str]:
    """Codes of classes that nothing refers to: neither raised, nor mapped to a cause, nor a base of others."""
    used: set[str] = set()
    for file in (ROOT / "src" / "anabranch").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Name):
                used.add(node.id)
            elif isinstance(node, ast.Attribute):
                used.add(node.attr)
    return [kind.code for kind in kinds if kind.__name__ not in used]


def documented(text: str) -> dict[str, tuple[str, int, str]]:
    """Meaning, exit code and class by code."""
    return {row["code"]: (row["meaning"].strip(), int(row["exit"]), row["kind"]) for row in ROW.finditer(text)}


def render(kinds: list[type[AnabranchError]], former: str) -> str:
    meanings = {code: meaning for code, (meaning, _, _) in documented(former).items()}
    by_area: dict[str, list[str]] = defaultdict(list)
    for kind in kinds:
        meaning = meanings.get(kind.code) or _first_line(kind)
        row = f"| `{kind.code}` | {meaning} | {int(kind.exit_code)} | `{kind.__name__}` |"
        by_area[kind.code.partition(".")[0]].append(row)
    return HEAD + "\n".join(row for area in sorted(by_area) for row in by_area[area]) + "\n"


def _first_line(kind: type[AnabranchError]) -> str:
    return (kind.__dict__.get("__doc__") or "").strip().split("\n")[0].replace("|", "\\|")


def _below(base: type[AnabranchError]) -> Iterator[type[AnabranchError]]:
    for kind in base.__subclasses__():
        yield kind
        yield from _below(kind)


def main() -> int:
    former = DOCUMENT.read_text(encoding="utf-8") if DOCUMENT.exists() else ""
    text = render(error_classes(), former)
    DOCUMENT.write_text(text, encoding="utf-8")
    empty = [code for code, (meaning, _, _) in documented(text).items() if not meaning]
    for code in empty:
        print(f"{code} has no meaning: write it in {DOCUMENT.relative_to(ROOT)}", file=sys.stderr)
    return 1 if empty else 0


if __name__ == "__main__":
    raise SystemExit(main())
