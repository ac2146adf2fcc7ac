"""A source that is asked beside the replay: its last answer counts for a while, then the replay is held."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from anabranch.errors import AnabranchError
from anabranch.replay.allowance import UNLIMITED, Allowance
from anabranch.replay.polled_source import PolledSource


class SilentError(AnabranchError):
    code = "test.silent"


@dataclass
class Scene:
    answers: list[Allowance | None] = field(default_factory=list)
    """None: no answer."""
    time: float = 0.0

    def ask(self) -> Allowance:
        answer = self.answers.pop(0)
        if answer is None:
            raise SilentError("nothing heard", state="as before", hint="wait")
        return answer

    def source(self) -> PolledSource:
        return PolledSource("veto", self.ask, every=60, patience=10, clock=lambda: self.time)


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_before_the_first_answer_the_replay_is_held(scene: Scene) -> None:
    held = scene.source().allowance()
    assert (held.source, held.paused) == ("veto", True)


def test_an_answer_counts_until_it_is_too_old(scene: Scene) -> None:
    scene.answers = [UNLIMITED, None]
    source = scene.source()
    source.ask()
    scene.time = 10
    source.ask()
    assert source.allowance() is UNLIMITED
    scene.time = 10.5
    held = source.allowance()
    assert held.paused
    assert held.reason == "no answer for 10 s: nothing heard"


def test_the_age_of_an_answer_counts_from_the_question(scene: Scene) -> None:
    def slow() -> Allowance:
        scene.time = 11
        return UNLIMITED

    source = PolledSource("veto", slow, every=60, patience=10, clock=lambda: scene.time)
    source.ask()
    assert source.allowance().paused


def test_it_is_asked_at_once_when_it_begins(scene: Scene) -> None:
    scene.answers = [UNLIMITED]
    with scene.source() as source:
        assert source.allowance() is UNLIMITED


def test_an_unexpected_error_is_no_answer_and_it_is_asked_again(scene: Scene) -> None:
    def fail() -> Allowance:
        raise KeyError("allow")

    source = PolledSource("veto", fail, every=60, patience=10, clock=lambda: scene.time)
    source.ask()
    assert source.allowance().reason == "no answer for 0 s: KeyError: 'allow'"
