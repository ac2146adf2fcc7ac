"""`anabranch approve`, `revoke`, `runbook` and what `status` says of it, on a run that nobody has replayed yet."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.fixtures.project import no_connection
from tests.unit.plan.world import NOW, World, hourly

from anabranch.app.project_context import ProjectContext, open_project
from anabranch.cli.main import main
from anabranch.gates.evidence import keep_evidence
from anabranch.plan.plan_file import write_plan_file
from anabranch.plan.planner import Planned
from anabranch.plan.submission import submit
from anabranch.runs.journal import Outcome
from anabranch.runs.run_lease import acquire_run_lease
from anabranch.runs.states import Event

Command = Callable[..., tuple[int, dict[str, Any], str]]


@pytest.fixture
def planned(tmp_path: Path) -> Planned:
    """In a project whose context asks for approval."""
    world = World.below(tmp_path / "shop")
    (world.folder / "contracts" / "fix-currency.yaml").rename(world.folder / "contracts" / "fix.yaml")
    file = world.folder / "anabranch.yaml"
    asks = "bootstrap: embedded\n      approval: {required: true}\n      roles: {operators: [ops], rollback: [oncall]}"
    file.write_text(file.read_text().replace("bootstrap: embedded", asks, 1))
    return world.plan([hourly(20)])


@pytest.fixture
def project_context(tmp_path: Path, planned: Planned) -> ProjectContext:
    return open_project(tmp_path / "shop")


@pytest.fixture
def run(project_context: ProjectContext, planned: Planned) -> str:
    with project_context.store() as store:
        return submit(store.writer, planned.plan, planned.request.contract, now=NOW, actor="ann").id


@pytest.fixture
def command(
    project_context: ProjectContext, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Command:
    """Run a command as somebody: exit code, what it gave, and what it said."""

    def call(who: str, *arguments: str) -> tuple[int, dict[str, Any], str]:
        monkeypatch.setenv("ANABRANCH_ACTOR", who)
        with no_connection():
            code = main([*arguments, "--project", str(project_context.folder), "-o", "json"])
        printed = capsys.readouterr()
        return code, json.loads(printed.out) if printed.out else {}, printed.err

    return call


def approval(command: Command, run: str) -> dict[str, Any]:
    code, document, _ = command("ann", "status", run)
    assert code == 0
    found: dict[str, Any] = document["approval"]
    return found


def test_approved_by_another_shown_and_revoked(command: Command, run: str, planned: Planned) -> None:
    assert approval(command, run)["words"].startswith(f"needed: anabranch approve {run}")
    code, _, said = command("ann", "approve", run)
    assert (code, "approval.by-author" in said) == (3, True)

    code, given, _ = command("bob", "approve", "last", "--reason", "read it")
    assert code == 0
    assert (given["by"], given["plan"], given["validated"]) == ("bob", planned.plan.hash, None)
    assert given["next"] == f"anabranch promote {run}"
    shown = approval(command, run)
    assert (shown["needed"], shown["holds"]) == (True, True)
    assert shown["words"].startswith("by bob until ")

    code, _, _ = command("carol", "revoke", run, "--reason", "the wrong month")
    assert code == 0
    assert approval(command, run)["words"] == "void: it was revoked by carol (the wrong month)"
    _, described, _ = command("ann", "describe", run)
    [kept] = described["approvals"]
    assert (kept["by"], kept["reason"], kept["ended"]["by"]) == ("bob", "read it", "carol")
    assert command("ann", "audit", "verify")[1]["intact"]


def test_a_plan_is_approved_before_it_runs_and_another_plan_is_not(
    command: Command, project_context: ProjectContext, planned: Planned, tmp_path: Path
) -> None:
    file, other = tmp_path / "plan.json", tmp_path / "other.json"
    write_plan_file(file, planned)
    write_plan_file(other, World(project_context.folder).plan([hourly(20)], code="c2"))
    code, given, _ = command("bob", "approve", str(other))
    assert (code, given["run"], given["next"]) == (0, None, f"anabranch apply {other}")
    with project_context.store() as store:
        run = submit(store.writer, planned.plan, planned.request.contract, now=NOW, actor="ann").id
    assert approval(command, run)["words"].startswith("void: it was given to plan ")
    assert command("bob", "approve", str(file))[0] == 0
    assert approval(command, run)["holds"]


def test_an_author_who_approved_the_plan_beforehand_is_found_out(
    command: Command, project_context: ProjectContext, planned: Planned, tmp_path: Path
) -> None:
    write_plan_file(tmp_path / "plan.json", planned)
    assert command("ann", "approve", str(tmp_path / "plan.json"))[0] == 0
    with project_context.store() as store:
        run = submit(store.writer, planned.plan, planned.request.contract, now=NOW, actor="ann").id
    assert approval(command, run)["words"].startswith("void: it was given by the run's author")


def test_a_run_that_waits_for_nobody_is_not_approved(command: Command, run: str) -> None:
    assert command("ann", "cancel", run, "--yes")[0] == 0
    code, _, said = command("bob", "approve", run)
    assert code == 4
    assert "approval.nothing-to-approve" in said


def test_steering_is_for_operators_and_the_author_and_pausing_for_everybody(command: Command, run: str) -> None:
    for arguments in (("cancel", run), ("resume", run), ("throttle", run, "--rate", "1MiB"), ("close", run, "--yes")):
        code, _, said = command("eve", *arguments)
        assert code == 3
        assert "roles.not-operator" in said
        assert "ops may" in said
    assert command("eve", "pause", run)[0] == 0
    assert command("ops", "throttle", run, "--rate", "1MiB")[0] == 0
    assert command("ann", "resume", run)[0] == 0


def test_cancelling_is_confirmed_and_refused_where_it_comes_too_late(command: Command, run: str) -> None:
    code, _, said = command("ann", "cancel", run)
    assert (code, "cli.not-confirmed" in said) == (3, True)
    assert command("ann", "status", run)[1]["state"] == "planned"
    assert command("ann", "cancel", run, "--yes")[1]["state"] == "cancelled"
    code, _, said = command("ann", "cancel", run)
    assert (code, "run.illegal-transition" in said) == (4, True), "refused before anybody is asked"


@pytest.mark.parametrize("arguments", [("--override",), ("--reason", "now")])
def test_an_override_has_a_reason(command: Command, run: str, arguments: tuple[str, ...]) -> None:
    code, _, said = command("eve", "rollback", run, "--yes", *arguments)
    assert (code, "go together" in said) == (2, True)


def test_the_runbook_says_what_is_not_measured_and_then_what_is(
    command: Command, project_context: ProjectContext, run: str, planned: Planned
) -> None:
    code, kept, _ = command("ann", "runbook", run)
    assert code == 0
    text = Path(kept["markdown"]).read_text()
    for line in (
        f"Not measured. To measure: `anabranch gates {run} --context dev`",
        "Not measured. To measure: `anabranch rehearse -f contracts/fix.yaml --context dev`",
        "Not measured. To measure: `anabranch cost -f contracts/fix.yaml --context dev`",
        f"| Promote | `anabranch promote {run} --context dev` | validated and approved | ops |",
        f"| Roll back | `anabranch rollback {run} --context dev` | promoted, not closed | oncall |",
        f"Not approved yet. Next: anabranch approve {run}",
    ):
        assert line in text
    with project_context.store() as store:
        found = {"records_per_second": 12500.0, "bottleneck": "decode"}
        keep_evidence(store.writer, "rehearsal", f"contract/{planned.plan.contract}", found, by="ann", good_until=None)
        keep_evidence(store.writer, "rehearsal", "contract/another", {"bottleneck": "write"}, by="ann", good_until=None)
        keep_evidence(store.writer, "rollback", "table/shop.orders", {"seconds": 2.0}, by="ann", good_until=NOW)
    command("bob", "approve", run)
    command("ann", "runbook", run)
    text = Path(kept["markdown"]).read_text()
    assert "bottleneck decode; records per second 12,500.00" in text
    assert "bottleneck write" not in text
    assert "2025-07-01 00:00: expired" in text
    assert "Approved by bob" in text
    assert planned.plan.hash in Path(kept["page"]).read_text()


def promoted(project_context: ProjectContext, run: str) -> None:
    """As on record only: production is not looked at by what follows."""
    with project_context.store() as store, acquire_run_lease(store, run, holder="test", actor="ann") as lease:
        for event in (Event.START, Event.STAGE, Event.ACCEPT):
            lease.transition(event)
        entry = lease.record_intent("promote", intent=f"{run}-promote-1")
        lease.transition(Event.PROMOTE)
        lease.record_outcome(entry, Outcome.SUCCEEDED, {"snapshot": "1"})
        lease.transition(Event.FINISH_PROMOTION)


def test_closing_within_the_rollback_horizon_names_its_end_and_changes_nothing(
    command: Command, project_context: ProjectContext, run: str
) -> None:
    promoted(project_context, run)
    _, status, _ = command("ann", "status", run)
    code, _, said = command("ann", "close", run, "--yes")
    assert (code, "close.rollback-horizon" in said) == (3, True)
    assert status["rollback"]["ends_at"] in said
    assert command("ann", "status", run)[1]["state"] == "promoted"
    command("ann", "runbook", run)
    text = (project_context.state / "runs" / run / "runbook.md").read_text()
    assert f"from {status['rollback']['ends_at'][:16].replace('T', ' ')} on, after the rollback horizon" in text


@pytest.mark.parametrize(
    "arguments", [("--forfeit-rollback",), ("--reason", "now"), ("--forfeit-rollback", "--reason", " ")]
)
def test_forfeiting_a_rollback_has_a_reason(command: Command, run: str, arguments: tuple[str, ...]) -> None:
    code, _, said = command("ann", "close", run, "--yes", *arguments)
    assert (code, "go together" in said) == (2, True)


def test_the_contracts_rollback_authority_counts_in_a_context_that_names_nobody(
    command: Command, project_context: ProjectContext, run: str
) -> None:
    file = project_context.folder / "anabranch.yaml"
    file.write_text(file.read_text().replace("rollback: [oncall]", "rollback: []", 1))
    promoted(project_context, run)
    code, _, said = command("eve", "rollback", run, "--yes")
    assert (code, "rollback.not-authority" in said) == (3, True)
    assert "oncall may roll back" in said
