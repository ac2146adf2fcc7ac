"""Loading a project: which context, and what goes before what."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch.project.environment import apply_overrides, find_overrides
from anabranch.project.findings import BadFilesError
from anabranch.project.load import load_project


def refused(folder: Path, environment: dict[str, str], context: str | None = None) -> str:
    with pytest.raises(BadFilesError) as caught:
        load_project(folder, context, environment)
    return str(caught.value)


def test_a_context_left_empty_is_embedded(shop: Path) -> None:
    path = shop / "anabranch.yaml"
    head = "apiVersion: anabranch/v1\nkind: Project\nmetadata: {name: shop}\n"
    path.write_text(head + "spec: {defaultContext: dev, contexts: {dev: {}}}\n")
    found = load_project(shop, environment={}).settings
    assert found.kafka.embedded
    assert found.database.embedded
    assert (found.catalog.type, found.spark.master) == ("embedded", "local[*,4]")
    assert (found.metrics.port, found.metrics.bind) == (None, "127.0.0.1")


def test_flag_over_environment_over_file_chooses_the_context(shop: Path) -> None:
    assert load_project(shop, None, {}).context == "dev"
    assert load_project(shop, None, {"ANABRANCH_CONTEXT": "prod"}).context == "prod"
    assert load_project(shop, "dev", {"ANABRANCH_CONTEXT": "prod"}).context == "dev"


def test_an_unknown_context_names_where_it_was_asked_for(shop: Path) -> None:
    assert "--context: anabranch.yaml has no context 'prd'. Write: prod" in refused(shop, {}, "prd")
    assert "ANABRANCH_CONTEXT: anabranch.yaml has no context" in refused(shop, {"ANABRANCH_CONTEXT": "staging"})


def test_the_environment_goes_before_the_file_and_the_file_before_the_default(shop: Path) -> None:
    variables = {
        "ANABRANCH_KAFKA__BOOTSTRAP": "other:9092",
        "ANABRANCH_KAFKA__SECURITY__PASSWORD": "${env:OTHER}",
        "ANABRANCH_SPARK__DRIVER_MEMORY": "8g",
        "ANABRANCH_METRICS__PORT": "9999",
    }
    found = load_project(shop, "prod", variables).settings
    assert found.kafka.servers == ("other:9092",)
    assert found.kafka.security is not None
    assert str(found.kafka.security.password) == "${env:OTHER}"
    assert found.kafka.security.username == "anabranch-replay"
    assert (found.spark.driver_memory, found.spark.master) == ("8g", "spark://spark.example.com:7077")
    assert (found.metrics.port, found.metrics.bind) == (9999, "127.0.0.1")


def test_approval_is_asked_for_by_default_except_where_kafka_is_embedded(shop: Path) -> None:
    path = shop / "anabranch.yaml"
    assert not load_project(shop, "dev", {}).settings.needs_approval
    assert load_project(shop, "prod", {}).settings.needs_approval
    path.write_text(path.read_text().replace("lifetime: 3d", "required: false"))
    assert not load_project(shop, "prod", {}).settings.needs_approval
    path.write_text(
        path.read_text().replace("bootstrap: embedded", "bootstrap: embedded\n      approval: {required: true}")
    )
    assert load_project(shop, "dev", {}).settings.needs_approval


def test_gates_are_enforced_by_default_except_where_kafka_is_embedded(shop: Path) -> None:
    path = shop / "anabranch.yaml"
    assert not load_project(shop, "dev", {}).settings.enforces_gates
    prod = load_project(shop, "prod", {}).settings
    assert (prod.enforces_gates, prod.gates.high_volume.records, prod.gates.high_volume.bytes) == (True, 10**6, 2**30)
    path.write_text(path.read_text().replace("lifetime: 3d", "lifetime: 3d\n      gates: {enforce: false}"))
    assert not load_project(shop, "prod", {}).settings.enforces_gates


@pytest.mark.parametrize(
    "variable",
    ["ANABRANCH_APPROVAL__REQUIRED", "ANABRANCH_ROLES__APPROVERS", "ANABRANCH_APPROVAL", "ANABRANCH_GATES__ENFORCE"],
)
def test_who_has_to_agree_is_not_decided_by_whoever_types_the_command(shop: Path, variable: str) -> None:
    words = refused(shop, {variable: "false"}, "prod")
    assert f"{variable}: " in words
    assert "can't be set by an environment variable" in words


def test_a_bad_variable_is_named_instead_of_a_line(shop: Path) -> None:
    words = refused(shop, {"ANABRANCH_KAFKA__BOOTSTRAP": "no-port"})
    assert "ANABRANCH_KAFKA__BOOTSTRAP: kafka.bootstrap: a broker must be host:port" in words


def test_a_secret_in_a_variable_is_refused_and_not_repeated(shop: Path) -> None:
    words = refused(shop, {"ANABRANCH_DATABASE__PASSWORD": "canary"}, "prod")
    assert "ANABRANCH_DATABASE__PASSWORD" in words
    assert "canary" not in words


@pytest.mark.parametrize(
    ("variable", "write"),
    [
        ("ANABRANCH_KAFKA__BOOTSTRAPS", "ANABRANCH_KAFKA__BOOTSTRAP"),
        ("ANABRANCH_KAFKA_BOOTSTRAP", "ANABRANCH_KAFKA__BOOTSTRAP"),
        ("ANABRANCH_SPARK__DRIVERMEMORY", "ANABRANCH_SPARK__DRIVER_MEMORY"),
        ("ANABRANCH_KAFAK__BOOTSTRAP", "ANABRANCH_KAFKA__BOOTSTRAP"),
        ("ANABRANCH_KAFKA__OPTIONS__X", "options in the file"),
        ("ANABRANCH_KAFKA__SECURITY", "ANABRANCH_KAFKA__SECURITY__"),
    ],
)
def test_a_variable_that_sets_nothing_is_refused_by_name(shop: Path, variable: str, write: str) -> None:
    words = refused(shop, {variable: "canary"})
    assert f"{variable}: this environment variable" in words
    assert f"Write: {write}" in words
    assert "canary" not in words


def test_variables_of_other_meaning_are_left_alone(shop: Path) -> None:
    names = ("ANABRANCH_DEBUG", "ANABRANCH_CACHE", "ANABRANCH_PROJECT", "ANABRANCH_TEAM", "KAFKA__BOOTSTRAP")
    assert load_project(shop, None, dict.fromkeys(names, "1")).context == "dev"


def test_problems_of_all_contexts_are_found_not_only_of_the_chosen_one(shop: Path) -> None:
    path = shop / "anabranch.yaml"
    path.write_text(path.read_text().replace("protocol: SASL_SSL", "protocol: TLS"))
    assert "spec.contexts.prod.kafka.security.protocol" in refused(shop, {}, "dev")


SETTABLE = ("ANABRANCH_KAFKA__BOOTSTRAP", "ANABRANCH_SPARK__MASTER", "ANABRANCH_METRICS__PORT")


@settings(deadline=None)
@given(
    st.dictionaries(st.sampled_from(SETTABLE), st.integers(1, 9).map(str)),
    st.dictionaries(
        st.sampled_from(["kafka", "spark", "metrics"]),
        st.dictionaries(st.sampled_from(["bootstrap", "master", "port", "other"]), st.integers(10, 99)),
    ),
)
def test_what_the_environment_sets_wins_and_all_else_stays(
    variables: dict[str, str], written: dict[str, dict[str, int]]
) -> None:
    overrides, findings = find_overrides(variables)
    before = {section: dict(keys) for section, keys in written.items()}
    result = apply_overrides(written, overrides)
    assert not findings
    assert written == before
    touched = {override.path for override in overrides}
    assert len(touched) == len(variables)
    for override in overrides:
        assert result[override.path[0]][override.path[1]] == int(variables[override.variable])
    for section, keys in written.items():
        assert {k: v for k, v in result[section].items() if (section, k) not in touched} == {
            k: v for k, v in keys.items() if (section, k) not in touched
        }
