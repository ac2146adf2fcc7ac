"""Numbers and commands that the documentation names are those of the code."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from anabranch.cli.main import main
from anabranch.demo.scene import StoryError, require_same
from anabranch.errors import ExitCode
from anabranch.plan.slices import FEWEST_OFFSETS, MOST_OFFSETS, MOST_SLICES, OFFSETS_PER_SLICE, USUAL_SLICES
from anabranch.runs.run_lease import LEASE_DURATION

ROOT = Path(__file__).parents[2]


def page(name: str) -> str:
    """A page in one line, so that a sentence may be broken anywhere."""
    return " ".join((ROOT / name).read_text().split())


def test_the_lease_of_the_documentation_is_the_codes() -> None:
    assert f"holds its lease for {LEASE_DURATION.total_seconds():.0f} seconds at a time" in page("docs/operations.md")


def test_slice_sizes_of_help_and_documentation_are_the_codes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--help"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    for number in (FEWEST_OFFSETS, OFFSETS_PER_SLICE, MOST_OFFSETS, MOST_SLICES):
        assert f"{number:,}" in shown
    assert f"1/{USUAL_SLICES} of a large one" in shown
    written = page("docs/performance.md")
    assert f"slices are of {OFFSETS_PER_SLICE:,} offsets at least" in written
    assert f"cut into {USUAL_SLICES}, up to {MOST_OFFSETS:,} offsets each" in written


def test_every_link_of_the_readme_leads_to_a_file() -> None:
    links = re.findall(r"\]\(([^)#:]+)\)", (ROOT / "README.md").read_text())
    assert len(links) > 30
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_ci_runs_every_command_that_the_readme_names_for_a_checkout() -> None:
    block = re.search(r"## Two commands.*?```\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert block is not None
    named = set(re.findall(r"^make ([a-z-]+)", block.group(1), re.MULTILINE))
    run = re.findall(r"^make ([a-z -]+)", (ROOT / ".ci" / "run").read_text(), re.MULTILINE)
    assert named == {"demo", "test"}
    assert named <= {target for line in run for target in line.split()}


def test_a_demo_whose_proof_fails_ends_with_an_error() -> None:
    """`make demo` and CI go by the exit code."""
    require_same(Counter("ab"), Counter("ba"))
    with pytest.raises(StoryError, match="1 rows missing, 2 unexpected rows") as failed:
        require_same(Counter("ab"), Counter("bcc"))
    assert failed.value.exit_code is ExitCode.FAILED
