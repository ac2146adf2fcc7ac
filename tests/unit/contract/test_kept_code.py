"""Code is kept by its digest: it comes back as it was, or not at all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.unit.plan.world import pipeline

from anabranch.cli.main import main
from anabranch.contract.code import code_digest
from anabranch.contract.code_store import CodeNotStoredError, CodeStore, StoredCodeChangedError
from anabranch.contract.load import load_pipelines
from anabranch.project.load import load_project
from anabranch.project.scaffold import plan_project, write_project


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_project(plan_project(tmp_path / "shop", "shop"))
    return tmp_path / "shop"


@pytest.fixture
def store(tmp_path: Path) -> CodeStore:
    return CodeStore.below(tmp_path / "state", "orders")


@pytest.mark.parametrize(("name", "effects"), [("orders", ()), ("payments", None)])
def test_a_pipeline_of_a_new_project_comes_back_as_it_was(
    folder: Path, tmp_path: Path, name: str, effects: tuple[()] | None
) -> None:
    declared = load_pipelines(load_project(folder, environment={}))[name].pipeline
    assert declared.spec.effects == effects
    kept = CodeStore.below(tmp_path / "state", name)
    assert kept.load(kept.keep(folder, declared)).pipeline == declared


def test_a_version_comes_back_after_the_project_has_another(folder: Path, store: CodeStore) -> None:
    file, declared = folder / "transforms" / "orders.py", pipeline(folder)
    was = file.read_text()
    first = store.keep(folder, declared)
    assert first == code_digest(folder, declared)
    file.write_text("import transforms.rates\n" + was)
    (folder / "transforms" / "rates.py").write_text("rate = 1\n")
    second = store.keep(folder, declared)
    assert second == code_digest(folder, declared) != first
    assert store.keep(folder, declared) == second
    assert set(store.digests) == {first, second}

    kept = store.load(first[:8])
    assert kept.digest == first
    assert kept.pipeline == declared
    assert (kept.folder / "transforms" / "orders.py").read_text() == was
    assert not (kept.folder / "transforms" / "rates.py").exists()
    assert sorted(path.name for path in store.folder.iterdir()) == sorted((first, second)), "nothing else is left"


def test_sql_is_kept_too_and_how_events_are_read_is_part_of_it(folder: Path, store: CodeStore) -> None:
    (folder / "deep").mkdir()
    (folder / "deep" / "orders.sql").write_text("SELECT * FROM events")
    one = pipeline(folder, transform={"sql": "deep/orders.sql"})
    other = pipeline(folder, transform={"sql": "deep/orders.sql"}, eventTime={"field": "_timestamp"})
    looking = pipeline(folder, transform={"sql": "deep/orders.sql"}, lookups={"rates": "shop.rates"})
    digests = {store.keep(folder, each) for each in (one, other, looking)}
    assert len(digests) == 3
    assert store.load(code_digest(folder, other)).pipeline == other


def test_what_is_not_kept_or_not_told_apart_is_refused_with_the_way_to_keep_it(folder: Path, store: CodeStore) -> None:
    with pytest.raises(CodeNotStoredError, match="stored versions: none") as refused:
        store.load("a" * 64)
    assert "anabranch live keep orders --from FOLDER" in refused.value.remedy
    store.keep(folder, pipeline(folder))
    store.keep(folder, pipeline(folder, eventTime={"field": "_timestamp"}))
    with pytest.raises(CodeNotStoredError, match="2 versions"):
        store.find("")


@pytest.mark.parametrize("spoilt", ["edited", "removed", "added", "declared otherwise", "no JSON"])
def test_kept_files_that_were_changed_are_refused(folder: Path, store: CodeStore, spoilt: str) -> None:
    digest = store.keep(folder, pipeline(folder))
    place = store.folder / digest
    file = place / "files" / "transforms" / "orders.py"
    match spoilt:
        case "edited":
            file.write_text(file.read_text().replace("1.1700", "0.9200"))
        case "removed":
            file.unlink()
        case "added":
            file.with_name("more.py").write_text("")
        case "declared otherwise":
            text = (place / "pipeline.json").read_text()
            (place / "pipeline.json").write_text(text.replace('"ordered_at": "timestamp"', '"ordered_at": "string"'))
        case _:
            (place / "pipeline.json").write_text("{")
    with pytest.raises(StoredCodeChangedError):
        store.load(digest)


def test_a_former_version_is_kept_from_another_folder(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    then = tmp_path / "then"
    write_project(plan_project(then, "shop"))
    (then / "transforms" / "rates.py").write_text("rate = 1\n")
    digests = []
    for more in ([], ["--from", str(then)]):
        assert main(["live", "keep", "orders", "--project", str(folder), *more, "-o", "json"]) == 0
        digests.append(json.loads(capsys.readouterr().out)["digest"])
    assert CodeStore.below(folder / ".anabranch", "orders").digests == tuple(digests)
    assert len(set(digests)) == 2
    assert not (then / ".anabranch").exists()
    assert main(["live", "keep", "nobody", "--project", str(folder)]) == 2
