"""Whether a Spark master answers, asked before Spark itself tries for a minute."""

from __future__ import annotations

import socket

import pytest

from anabranch.doctor.spark import unanswered


@pytest.mark.parametrize("master", ["local[*,4]", "yarn", "k8s://https://127.0.0.1:9"])
def test_only_a_standalone_master_is_asked(master: str) -> None:
    assert unanswered(master) == []


def test_a_master_that_answers() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert unanswered(f"spark://127.0.0.1:{server.getsockname()[1]}") == []


def test_one_of_several_masters_is_enough() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert unanswered(f"spark://127.0.0.1:9,127.0.0.1:{server.getsockname()[1]}") == []


def test_masters_that_do_not_answer_are_named() -> None:
    assert unanswered("spark://127.0.0.1:9,127.0.0.1:10") == ["127.0.0.1:9", "127.0.0.1:10"]
