"""Loads the pipelines and contracts of a project. Opens no connection."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from anabranch.contract.backfill import Backfill
from anabranch.contract.pipeline import Pipeline
from anabranch.project.documents import Document, read_document
from anabranch.project.findings import BadFilesError, FileProblem
from anabranch.project.keys import closest
from anabranch.project.load import LoadedProject
from anabranch.project.location import PROJECT_FILE
from anabranch.project.model import Envelope
from anabranch.project.paths import OutsideError, inside
from anabranch.project.validation import validate_document

Kind = TypeVar("Kind", bound=Envelope)


@dataclass(frozen=True)
class LoadedPipeline:
    file: str
    pipeline: Pipeline

    @property
    def name(self) -> str:
        return self.pipeline.metadata.name


@dataclass(frozen=True)
class LoadedContract:
    """A contract and its pipeline."""

    file: str
    backfill: Backfill
    pipeline: LoadedPipeline

    @property
    def name(self) -> str:
        return self.backfill.metadata.name


def load_pipelines(loaded: LoadedProject) -> Mapping[str, LoadedPipeline]:
    """Every pipeline by name, in the order of the files. Raises BadFilesError with every problem."""
    pipelines, findings = read_pipelines(loaded)
    if findings:
        raise BadFilesError(findings)
    return {pipeline.name: pipeline for pipeline in pipelines.values()}


def load_contract(loaded: LoadedProject, path: Path) -> LoadedContract:
    """The contract at `path`, inside the project or not. All pipelines of the project must be valid."""
    pipelines = load_pipelines(loaded)
    resolved = path.resolve()
    below = resolved.is_relative_to(loaded.folder)
    file = resolved.relative_to(loaded.folder).as_posix() if below else str(path)
    return read_contract(loaded, read_document(path, file), pipelines)


def read_pipelines(loaded: LoadedProject) -> tuple[dict[str, LoadedPipeline], list[FileProblem]]:
    """The valid pipelines by file, and the problems of the others."""
    good: dict[str, LoadedPipeline] = {}
    findings: list[FileProblem] = []
    for file, path in _files(loaded, "pipelines", findings):
        try:
            document = read_document(path, file)
            pipeline = LoadedPipeline(file, _model(loaded, document, Pipeline, "Pipeline"))
            findings.extend(_clashes(pipeline, document, good.values()))
        except BadFilesError as error:
            findings.extend(error.findings)
        else:
            good[file] = pipeline
    return good, findings


def read_contracts(
    loaded: LoadedProject, pipelines: Mapping[str, LoadedPipeline]
) -> tuple[dict[str, LoadedContract], list[FileProblem]]:
    """The valid contracts by file, and the problems of the others."""
    good: dict[str, LoadedContract] = {}
    findings: list[FileProblem] = []
    for file, path in _files(loaded, "contracts", findings):
        try:
            document = read_document(path, file)
            contract = read_contract(loaded, document, pipelines)
        except BadFilesError as error:
            findings.extend(error.findings)
            continue
        twin = next((other for other in good.values() if other.name == contract.name), None)
        if twin is not None:
            findings.append(_duplicate(document, ("metadata", "name"), f"{twin.file} has the same name"))
        good[file] = contract
    return good, findings


def read_contract(loaded: LoadedProject, document: Document, pipelines: Mapping[str, LoadedPipeline]) -> LoadedContract:
    """One contract. Raises BadFilesError with every problem in it."""
    backfill = _model(loaded, document, Backfill, "Backfill")
    name = backfill.spec.pipeline
    if name not in pipelines:
        meant = closest(name, pipelines) or " or ".join(pipelines) or "a pipeline of the project"
        at = ("spec", "pipeline")
        what = f"the project has no valid pipeline {name!r}"
        raise BadFilesError(
            [FileProblem(document.file, document.line(at), "spec.pipeline", what, f"pipeline: {meant}")]
        )
    declared = pipelines[name].pipeline.spec.lookups or {}
    unknown = [each for each in backfill.spec.lookups or {} if each not in declared]
    if unknown:
        raise BadFilesError([_unknown_lookup(document, each, declared) for each in unknown])
    return LoadedContract(document.file, backfill, pipelines[name])


def _unknown_lookup(document: Document, lookup: str, declared: Mapping[str, str]) -> FileProblem:
    at = ("spec", "lookups", lookup)
    meant = closest(lookup, declared) or " or ".join(declared) or "no lookups: the pipeline declares none"
    return FileProblem(
        document.file, document.line(at), ".".join(at), f"the pipeline declares no lookup {lookup!r}", meant
    )


def _model(loaded: LoadedProject, document: Document, model: type[Kind], kind: str) -> Kind:
    value, findings = validate_document(document, model, kind, loaded.surroundings)
    if value is None:
        raise BadFilesError(findings)
    return value


def _files(loaded: LoadedProject, what: str, findings: list[FileProblem]) -> Iterator[tuple[str, Path]]:
    """The YAML files of a folder of the project, by name."""
    name: str = getattr(loaded.project.spec, what)
    folder = loaded.folder / name
    if not folder.is_dir():
        line = loaded.document.line(("spec", what))
        findings.append(
            FileProblem(PROJECT_FILE, line, f"spec.{what}", f"the folder {name!r} does not exist", f"{what}: {what}")
        )
        return
    for path in sorted(folder.iterdir()):
        if path.suffix not in (".yaml", ".yml") or path.name.startswith("."):
            continue
        file = path.relative_to(loaded.folder).as_posix()
        try:
            inside(loaded.folder, file)
        except OutsideError as outside:
            findings.append(
                FileProblem(
                    file, None, "", f"this file is outside the project: {outside}", "a file inside the project's folder"
                )
            )
            continue
        yield file, path


def _clashes(pipeline: LoadedPipeline, document: Document, others: Iterable[LoadedPipeline]) -> Iterator[FileProblem]:
    for other in others:
        if other.name == pipeline.name:
            yield _duplicate(document, ("metadata", "name"), f"{other.file} has the same name")
        if other.pipeline.spec.consumer_group == pipeline.pipeline.spec.consumer_group:
            # Two pipelines that commit to one group overwrite each other's offsets.
            yield _duplicate(document, ("spec", "consumerGroup"), f"{other.file} has the same consumer group")


def _duplicate(document: Document, at: tuple[str, ...], what: str) -> FileProblem:
    return FileProblem(document.file, document.line(at), ".".join(at), what, f"a unique {at[-1]}")
