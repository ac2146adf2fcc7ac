"""Loads the transform's modules from the project's current files, isolated from other modules of the process."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module, invalidate_caches
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from threading import RLock
from types import CodeType, ModuleType

from pyspark import cloudpickle

from anabranch.errors import NOTHING_CHANGED, AnabranchError, ExitCode

_ALONE = RLock()
"""`sys.modules` is global: only one project's modules may be in it at a time."""

_TAKEN = frozenset(sys.stdlib_module_names) | {"anabranch", "pyspark", "py4j"}


class ModuleNameTakenError(AnabranchError):
    code = "transform.name-taken"
    exit_code = ExitCode.USAGE


class ProjectModules:
    """The modules below one top-level name of a project (`transforms`), loaded from their current source.

    They are in `sys.modules` only while their code runs (`at_home`), so that one process can load two projects, or two
    versions of one. No other folder of the project can be imported: the code digest covers the top folder, and code
    that it does not cover must not run.
    """

    def __init__(self, folder: Path, top: str) -> None:
        if top in _TAKEN:
            raise ModuleNameTakenError(
                f"Module {top} of the transform has the name of an installed Python module.",
                state=NOTHING_CHANGED,
                hint=f"rename {top}, for example to transforms, in the project and in the pipeline",
            )
        self._top = top
        self._finder = _Finder(folder, top)
        self._loaded: dict[str, ModuleType] = {}

    def load(self, module: str) -> ModuleType:
        with self.at_home():
            loaded = import_module(module)
            # Functions are pickled by value: a reused worker would otherwise have an older version of the module.
            cloudpickle.register_pickle_by_value(sys.modules[self._top])  # type: ignore[no-untyped-call]
        return loaded

    @contextmanager
    def at_home(self) -> Iterator[None]:
        """During the block, importing the top-level name gives this project's modules."""
        with _ALONE:
            strangers = self._take_out()
            sys.modules.update(self._loaded)
            sys.meta_path.insert(0, self._finder)
            invalidate_caches()
            try:
                yield
            finally:
                sys.meta_path.remove(self._finder)
                self._loaded = self._take_out()
                sys.modules.update(strangers)

    def _take_out(self) -> dict[str, ModuleType]:
        names = [name for name in sys.modules if name.split(".", 1)[0] == self._top]
        return {name: sys.modules.pop(name) for name in names}


class _Finder(MetaPathFinder):
    def __init__(self, folder: Path, top: str) -> None:
        self._folder = folder
        self._top = top

    def find_spec(
        self,
        name: str,
        path: Sequence[str] | None,  # noqa: ARG002
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> ModuleSpec | None:
        if name.split(".", 1)[0] != self._top:
            return None
        place = self._folder.joinpath(*name.split("."))
        package, module = place / "__init__.py", place.with_name(f"{place.name}.py")
        if package.is_file():
            loader = _FromSource(name, str(package))
            return spec_from_file_location(name, package, loader=loader, submodule_search_locations=[str(place)])
        if module.is_file():
            return spec_from_file_location(name, module, loader=_FromSource(name, str(module)))
        if place.is_dir():
            spec = ModuleSpec(name, None, is_package=True)
            spec.submodule_search_locations = [str(place)]
            return spec
        raise ModuleNotFoundError(f"there is no module {name} in the project", name=name)


class _FromSource(SourceFileLoader):
    """Compiles the file every time: a cached one counts as current if size and modification second are equal."""

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)
