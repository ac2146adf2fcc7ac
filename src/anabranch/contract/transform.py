"""The transform of a pipeline: Python `module:function` or a SQL file, located without running it."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field, ValidationInfo, WithJsonSchema, model_validator

from anabranch.contract.determinism.calls import NAMES
from anabranch.project.keys import closest
from anabranch.project.model import Part, surroundings
from anabranch.project.paths import OutsideError, ProjectFile, inside
from anabranch.project.refusals import Problem, refusal, refuse

_PYTHON = r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*"


def _python(text: str, info: ValidationInfo) -> str:
    if not re.fullmatch(_PYTHON, text, re.ASCII):
        raise refuse("this is not a Python function", "module:function, such as transforms.orders:transform")
    module, function = text.split(":")
    path = _module_file(surroundings(info).folder, module)
    if path is None:
        file = module.replace(".", "/") + ".py"
        raise refuse(f"the project has no file {file!r}", "a module of the project: transforms.orders:transform")
    _check_function(path, module, function)
    return text


def _module_file(folder: Path, module: str) -> Path | None:
    for file in (module.replace(".", "/") + ".py", module.replace(".", "/") + "/__init__.py"):
        try:
            path = inside(folder, file)
            if path.is_file():
                return path
        except OutsideError as outside:
            raise refuse(f"this module is outside the project: {outside}", "a module of the project") from None
        except OSError:  # a name longer than the file system allows
            return None
    return None


def _check_function(path: Path, module: str, function: str) -> None:
    """Find the function in the source text: `anabranch check` must not run what it checks."""
    try:
        tree = ast.parse(path.read_bytes(), filename=path.name)
    except (SyntaxError, ValueError, OSError, RecursionError, MemoryError) as error:
        line = f" (line {error.lineno})" if isinstance(error, SyntaxError) and error.lineno else ""
        raise refuse(f"the module {module} is not valid Python{line}", "valid Python") from None
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    assigned = {t.id for n in tree.body if isinstance(n, ast.Assign) for t in n.targets if isinstance(t, ast.Name)}
    imported = {a.asname or a.name for n in tree.body if isinstance(n, ast.ImportFrom) for a in n.names}
    if function not in functions | assigned | imported:
        known = " or ".join(f"{module}:{name}" for name in sorted(functions)) or f"a function {function} in {module}"
        raise refuse(f"the module {module} has no function {function!r}", known)


def _allowed(names: tuple[str, ...]) -> tuple[str, ...]:
    unknown = [(index, name) for index, name in enumerate(names) if name not in NAMES]
    if unknown:
        raise refusal(
            *(
                Problem(
                    "this is not a non-deterministic call that Anabranch detects",
                    closest(name, NAMES) or "rand",
                    (index,),
                )
                for index, name in unknown
            )
        )
    return names


class TransformSpec(Part):
    """The code that turns events into rows; the same code runs live and in a replay."""

    python: (
        Annotated[str, AfterValidator(_python), WithJsonSchema({"type": "string", "pattern": f"^{_PYTHON}$"})] | None
    ) = Field(
        default=None,
        description="A function of the project, module:function, that takes a DataFrame of events and returns one of "
        "rows.",
        examples=["transforms.orders:transform"],
    )
    sql: ProjectFile | None = Field(
        default=None,
        description="A file with one SELECT over `events` that returns the rows.",
        examples=["transforms/refunds.sql"],
    )

    allow: Annotated[tuple[str, ...], AfterValidator(_allowed), Field(min_length=1)] | None = Field(
        default=None,
        description="Non-deterministic calls that are intended; the plan lists them.",
        examples=[["current_timestamp"]],
    )

    @model_validator(mode="after")
    def _one_of_them(self) -> TransformSpec:
        if (self.python is None) == (self.sql is None):
            raise refuse(
                "a transform needs either python or sql", "python: transforms.orders:transform, or sql: file.sql"
            )
        return self
