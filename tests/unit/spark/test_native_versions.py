"""Native code is used with the versions that it was built for, and with no other."""

from __future__ import annotations

import pytest
from tests.fixtures.spark import SparkForTests

from anabranch.adapters.spark.native.versions import BUILT_FOR, running_versions, version_mismatch


def test_the_versions_it_was_built_for_fit() -> None:
    assert version_mismatch(BUILT_FOR) is None


@pytest.mark.parametrize("name", BUILT_FOR)
def test_another_version_is_named_in_the_notice(name: str) -> None:
    notice = version_mismatch({**BUILT_FOR, name: "99.1"})
    assert notice is not None
    assert f"built for {name} {BUILT_FOR[name]}, this session runs {name} 99.1" in notice
    assert all(other not in notice for other in BUILT_FOR if other != name and other != "Spark")


@pytest.mark.spark
def test_the_locked_jars_are_of_those_versions(spark: SparkForTests) -> None:
    assert running_versions(spark.session) == BUILT_FOR
