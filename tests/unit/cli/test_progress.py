from io import StringIO

import pytest
from rich.console import Console

from anabranch.adapters.jvm.artifacts import Artifact
from anabranch.cli.progress import downloads

JARS = (Artifact("org:one:1", "0" * 64, 3_000_000), Artifact("org:two:2", "1" * 64, 1_000_000))


def fetched(console: Console, jars: tuple[Artifact, ...]) -> None:
    with downloads(JARS, console) as progress:
        for jar in jars:
            with progress(jar.filename, jar.size) as advance:
                advance(jar.size)


def test_without_a_terminal_there_is_a_line_for_each_file() -> None:
    text = StringIO()

    fetched(Console(file=text), JARS)

    assert text.getvalue().splitlines() == [
        "fetching 2 jars (4.0 MB)",
        "  1/2 one-1.jar (3.0 MB)",
        "  2/2 two-2.jar (1.0 MB)",
    ]


def test_on_a_terminal_one_bar_counts_all_bytes() -> None:
    text = StringIO()

    fetched(Console(file=text, force_terminal=True, width=120), JARS)

    assert "two-2.jar" in text.getvalue()
    assert "4.0/4.0 MB" in text.getvalue()


@pytest.mark.parametrize("terminal", [True, False])
def test_nothing_is_shown_if_nothing_is_fetched(terminal: bool) -> None:
    text = StringIO()

    fetched(Console(file=text, force_terminal=terminal), ())

    assert text.getvalue() == ""
