"""Loads the pipeline's transform from the project; live and replay use the same object."""

from __future__ import annotations

import atexit
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from inspect import Parameter, signature
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from threading import RLock
from typing import Any
from zipfile import ZipFile, ZipInfo

from pyspark.sql import DataFrame, SparkSession

from anabranch.adapters.spark.transform.context import TransformRun
from anabranch.adapters.spark.transform.errors import TransformFailedError, attribute_transform_errors, lines_noted
from anabranch.adapters.spark.transform.lookups import LookupTables
from anabranch.adapters.spark.transform.project_modules import ProjectModules
from anabranch.contract.code import code_digest
from anabranch.contract.pipeline import Pipeline
from anabranch.errors import NOTHING_CHANGED, AnabranchError, ExitCode

EVENTS = "events"
STATE = "state"
_ATTEMPTS = 5
_VIEW = RLock()
"""Users' SQL fixes the view's name, so only one call at a time may use it."""


class TransformUnloadableError(AnabranchError):
    code = "transform.unloadable"
    exit_code = ExitCode.USAGE


class NotRowsError(AnabranchError):
    code = "transform.not-rows"
    exit_code = ExitCode.REFUSED


class CodeMovingError(AnabranchError):
    code = "transform.moving"
    exit_code = ExitCode.CONFLICT


class LoadedTransform:
    """Turns a DataFrame of events into one of rows. `digest` is that of the loaded code.

    For class ordered a second DataFrame has the table's rows for the keys of the events.
    """

    def __init__(self, folder: Path, file: Path, digest: str, act: Callable[..., Any], lookups: LookupTables) -> None:
        self.folder = folder
        self.file = file
        self.digest = digest
        self.lookups = lookups
        self._act = act

    def __call__(self, events: DataFrame, state: DataFrame | None = None) -> DataFrame:
        with self.attribute_transform_errors(), lines_noted(events.sparkSession):
            rows = self._act(events) if state is None else self._act(events, state)
        if not isinstance(rows, DataFrame):
            raise NotRowsError(
                f"The transform in {self.file.name} returned {type(rows).__name__} instead of a DataFrame.",
                state="No row was written.",
                hint="return a DataFrame that is made from the function's events argument",
            )
        return rows

    @contextmanager
    def attribute_transform_errors(self) -> Iterator[None]:
        """Spark runs most of a transform later, when rows are written: use this block there too."""
        with attribute_transform_errors(self.folder, self.file):
            yield


def load_transform(folder: Path, pipeline: Pipeline, lookups: LookupTables | None = None) -> LoadedTransform:
    """Load the transform from its current files."""
    folder, lookups = folder.resolve(), lookups or LookupTables()
    for _ in range(_ATTEMPTS):
        digest = code_digest(folder, pipeline)
        load = _sql if pipeline.spec.transform.python is None else _python
        transform = load(folder, pipeline, digest, lookups)
        if code_digest(folder, pipeline) == digest:
            return transform
    raise moving(pipeline)


def moving(pipeline: Pipeline) -> CodeMovingError:
    return CodeMovingError(
        f"Files of the transform of {pipeline.metadata.name} changed while they were read.",
        state=NOTHING_CHANGED,
        hint="save the files, then run the same command again",
    )


def ship(spark: SparkSession, transform: LoadedTransform, pipeline: Pipeline) -> None:
    """Send the transform's files to the workers, for imports inside the user's functions."""
    if pipeline.spec.transform.python is None:
        return
    top = pipeline.spec.transform.python.split(":")[0].split(".")[0]
    name = f"anabranch-{transform.digest[:16]}.zip"
    if any(added.rsplit("/", 1)[-1] == name for added in spark.sparkContext.listFiles):
        return  # a cluster refuses a second file with the same name, in any folder
    place = transform.folder / top
    files = sorted(place.rglob("*.py")) if place.is_dir() else [place.with_suffix(".py")]
    scratch = mkdtemp(prefix="anabranch-code-")
    atexit.register(rmtree, scratch, ignore_errors=True)  # executors may request the file until the end
    archive = Path(scratch) / name
    with ZipFile(archive, "w") as zipped:
        for place in sorted({file.parent for file in files} - {transform.folder}):
            # Without its own entry a folder that has no __init__.py can't be imported from an archive.
            zipped.writestr(ZipInfo(f"{place.relative_to(transform.folder).as_posix()}/"), b"")
        for file in files:
            zipped.writestr(ZipInfo(file.relative_to(transform.folder).as_posix()), file.read_bytes())
    before = list(sys.path)
    spark.sparkContext.addPyFile(str(archive))
    sys.path[:] = before  # only for workers: the driver imports the project's modules from the project


def _python(folder: Path, pipeline: Pipeline, digest: str, lookups: LookupTables) -> LoadedTransform:
    module, name = (pipeline.spec.transform.python or "").split(":")
    modules = ProjectModules(folder, module.split(".")[0])
    place = folder.joinpath(*module.split("."))
    file = place.with_name(f"{place.name}.py") if not place.is_dir() else place / "__init__.py"
    try:
        with attribute_transform_errors(folder, file):
            function = getattr(modules.load(module), name, None)
    except TransformFailedError as error:
        raise _unloadable(error.what.replace("The transform failed at", "It failed at"), module) from error.__cause__
    except ImportError as error:
        raise _unloadable(f"{error}.", module) from error
    if not callable(function):
        raise _unloadable(f"It has no function {name}.", module)
    arguments = _arguments(function)

    def act(*frames: DataFrame) -> Any:
        run = TransformRun.of(pipeline, partial(lookups.frame, frames[0].sparkSession))
        with modules.at_home():
            return function(*frames, run) if arguments > len(frames) else function(*frames)

    return LoadedTransform(folder, file, digest, act, lookups)


def _sql(folder: Path, pipeline: Pipeline, digest: str, lookups: LookupTables) -> LoadedTransform:
    file = folder / (pipeline.spec.transform.sql or "")
    text = file.read_text(encoding="utf-8").strip().rstrip(";")

    def act(*frames: DataFrame) -> Any:
        session = frames[0].sparkSession
        views = {**dict(zip((EVENTS, STATE), frames, strict=False)), **lookups.frames(session)}
        # A statement such as DROP TABLE would be executed at once. Only a query is allowed in brackets.
        session._jsparkSession.sessionState().sqlParser().parsePlan(f"SELECT * FROM ({text}\n)")  # noqa: S608
        with _VIEW:
            # The query is resolved here, so the view can be dropped before the rows are computed.
            for name, frame in views.items():
                frame.createOrReplaceTempView(name)
            try:
                return session.sql(text)
            finally:
                for name in views:
                    session.catalog.dropTempView(name)

    return LoadedTransform(folder, file, digest, act, lookups)


def _arguments(function: Callable[..., Any]) -> int:
    """Number of positional arguments. If it is one more than the frames, the last is the TransformRun."""
    positional = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    return len([each for each in signature(function).parameters.values() if each.kind in positional])


def _unloadable(why: str, module: str) -> TransformUnloadableError:
    return TransformUnloadableError(
        f"The transform's module {module} can't be loaded. {why}",
        state=NOTHING_CHANGED,
        hint="fix the module; it may import modules of its own top-level folder, and installed packages",
        module=module,
    )
