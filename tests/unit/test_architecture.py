"""The files and folders that docs/architecture.md names exist, `app/` decides nothing, class names are unique."""

from __future__ import annotations

import ast
import dataclasses
import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import pytest

from anabranch.contract.backfill import BackfillSpec
from anabranch.contract.pipeline import PipelineSpec
from anabranch.plan.plan import Plan, PlannedTarget
from anabranch.plan.planner import Planned
from anabranch.plan.request import BackfillRequest
from anabranch.plan.strategies.strategy import Strategy
from anabranch.replay.staging import StagedSlice, Staging, StagingPlace
from anabranch.runs.run import Run

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "architecture.md"
NAMED = re.compile(r"`((?:[a-z_]+/)+[a-z_]*(?:\.py)?)`")


def test_every_path_of_the_page_exists() -> None:
    named = set(NAMED.findall(PAGE.read_text(encoding="utf-8")))
    assert len(named) > 30
    missing = {path for path in named if not any((base / path).exists() for base in (ROOT, ROOT / "src" / "anabranch"))}
    assert missing == set()


def test_the_walk_has_at_most_fifteen_files() -> None:
    numbers = re.findall(r"^\| (\d+) \| `", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert [int(number) for number in numbers] == list(range(1, len(numbers) + 1))
    assert len(numbers) <= 15


APP = ROOT / "src" / "anabranch" / "app"
ROOMS = ("contract", "plan", "gates", "replay", "validate", "promote", "close", "readiness", "runs")
DECIDED_BY = (
    *(Run, Plan, PlannedTarget, Planned, Strategy, BackfillSpec, PipelineSpec, BackfillRequest),
    *(Staging, StagingPlace, StagedSlice),
)
"""Rooms decide by what these types hold: a run's state, a pipeline's class, a plan's strategy."""


def attributes(kind: Any) -> set[str]:
    """The fields and properties of a type."""
    own = {name for name, each in vars(kind).items() if isinstance(each, property) and not name.startswith("_")}
    if dataclasses.is_dataclass(kind):
        return own | {each.name for each in dataclasses.fields(kind)}
    return own | set(getattr(kind, "model_fields", ()))


ATTRIBUTES = frozenset().union(*(attributes(kind) for kind in DECIDED_BY)) - {"name"}


def conditions(tree: ast.AST) -> Iterator[ast.expr]:
    """What the code branches on, and every comparison, wherever it stands."""
    for node in ast.walk(tree):
        match node:
            case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test) | ast.Assert(test=test):
                yield test
            case ast.Match(subject=subject, cases=cases):
                yield subject
                yield from (each for case in cases for each in ast.walk(case.pattern) if isinstance(each, ast.expr))
            case ast.comprehension(ifs=ifs):
                yield from ifs
            case ast.BoolOp() | ast.Compare():
                yield node


def copies(node: ast.AST) -> Iterator[str]:
    """The local names that an assignment gives to what a room's type holds."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Attribute(attr=attr)) if attr in ATTRIBUTES:
            yield name
        case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)):
            for left, right in zip(names, values, strict=False):
                yield from copies(ast.Assign(targets=[left], value=right))
        case ast.NamedExpr(target=ast.Name(id=name), value=ast.Attribute(attr=attr)) if attr in ATTRIBUTES:
            yield name


def results(node: ast.AST, of_rooms: Collection[str]) -> Iterator[str]:
    """The local name that an assignment gives to what a room returned: `stopped = Turn(lease, …)()`."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=ast.Call(func=ast.Name(id=room)))):
            if room in of_rooms:
                yield name


def decisions(code: str) -> list[str]:
    """The conditions of a module that use a type of a room, or what such a type holds."""
    tree = ast.parse(code)
    of_rooms = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(tuple(f"anabranch.{r}." for r in ROOMS))
        for alias in node.names
    }
    of_rooms |= {name for node in ast.walk(tree) for name in (*copies(node), *results(node, of_rooms))}
    found = {}
    for condition in conditions(tree):
        for node in ast.walk(condition):
            named = isinstance(node, ast.Name) and node.id in of_rooms
            held = isinstance(node, ast.Attribute) and node.attr in ATTRIBUTES
            if named or held:
                found[condition.lineno] = f"line {condition.lineno}: {ast.unparse(condition)}"
    return [found[line] for line in sorted(found)]


@pytest.mark.parametrize("module", sorted(APP.rglob("*.py")), ids=lambda each: str(each.relative_to(APP)))
def test_app_decides_nothing(module: Path) -> None:
    """`app/` builds adapters and calls rooms. Move the branch to the room whose type it looks at, or to an adapter."""
    assert decisions(module.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "code",
    [
        "if backfill.run.state is CLOSED: pass",
        "x = 1 if plan.strategy.whole_table else 2",
        "from anabranch.plan.target_range import WholeTable\nwhole = 1 if isinstance(part, WholeTable) else 2",
        "budget = contract.spec.budget\nx = None if budget is None else budget.cost",
        "z = [s for s in slices if s.slice_id]",
        "from anabranch.runs.states import State\nok = found in (State.CLOSED,)",
        "match plan.strategy:\n    case _: pass",
        "a = spec.budget and spec.budget.cost",
        "from anabranch.replay.turn import Turn\nstopped = Turn(lease)()\nx = stopped or go()",
    ],
)
def test_a_decision_is_seen(code: str) -> None:
    assert decisions(code)


def test_branches_on_settings_are_no_decision() -> None:
    assert decisions("if settings.embedded:\n    pass\nfound = None if password is None else password.reveal()") == []


def test_no_class_name_exists_twice() -> None:
    """Each class has a domain name of its own: a reader who searches for it finds one thing."""
    places: dict[str, list[str]] = {}
    for module in sorted((ROOT / "src" / "anabranch").rglob("*.py")):
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(str(module.relative_to(ROOT)))
    assert len(places) > 500
    assert {name: found for name, found in places.items() if len(found) > 1} == {}
