"""A source is read once in a while, by one thread at a time, and never holds a scrape up."""

from threading import Event

from tests.fixtures.broker import eventually

from anabranch.errors import AnabranchError
from anabranch.monitoring.source import CachedSource


class SourceDownError(AnabranchError):
    code = "test.down"


def test_a_reading_is_served_again_until_it_is_old() -> None:
    now, reads = [0.0], []

    def read() -> int:
        reads.append(now[0])
        return len(reads)

    source = CachedSource(read, 5, lambda: now[0])
    found = []
    for at in (0.0, 4.9, 5.0, 6.0, 11.0):
        now[0] = at
        source.request()
        found.append(source.await_outcome(60).value)
    assert found == [1, 1, 2, 2, 3]
    assert reads == [0.0, 5.0, 11.0]


def test_a_source_that_hangs_is_read_by_one_thread_and_answers_later() -> None:
    go_on, reads = Event(), []

    def read() -> int:
        reads.append(1)
        go_on.wait(60)
        return 42

    source = CachedSource(read, 5)
    for _ in range(3):
        source.request()
        outcome = source.await_outcome(0.01)
        assert (outcome.value, outcome.error) == (None, "it does not answer")
    assert len(reads) == 1
    go_on.set()
    eventually(lambda: source.await_outcome(1).value == 42)


def test_an_error_is_kept_as_long_as_a_value_and_read_again_without_waiting() -> None:
    now, answers, go_on = [0.0], [0], Event()

    def read() -> int:
        answers[0] += 1
        if answers[0] == 1:
            raise SourceDownError("The source is down.", state="", hint="wait")
        if answers[0] == 2:
            raise ValueError("not expected")
        go_on.wait(60)
        return answers[0]

    def error_at(at: float) -> str | None:
        now[0] = at
        source.request()
        return source.await_outcome(60).error

    source = CachedSource(read, 5, lambda: now[0])
    assert [error_at(0), error_at(4.9)] == ["The source is down."] * 2
    assert answers == [1]
    eventually(lambda: error_at(5) == "ValueError: not expected")
    assert error_at(10) == "ValueError: not expected", "a source that failed holds no scrape up"
    assert answers == [3]
    go_on.set()
    eventually(lambda: source.await_outcome(60).value == 3)
