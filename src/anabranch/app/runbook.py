"""Writes the runbook of a run from its records. Connects only to the control database."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anabranch.adapters.iceberg.refs import after_tag, before_tag, staging_branch
from anabranch.app.approval import approval_of
from anabranch.gates.approval.approval import approvals_of
from anabranch.gates.evidence import ACTION, Evidence, read_evidence
from anabranch.pages.runbook.markdown import render_markdown
from anabranch.pages.runbook.measured import KINDS
from anabranch.pages.runbook.page import render_page
from anabranch.pages.runbook.sections import write_book
from anabranch.pages.runbook.situation import Situation
from anabranch.project.atomic_write import atomic_write

if TYPE_CHECKING:
    from anabranch.app.backfill import BackfillRun


@dataclass(frozen=True)
class KeptRunbook:
    situation: Situation
    markdown: Path
    page: Path


def keep_runbook(backfill: BackfillRun, now: datetime) -> KeptRunbook:
    """Write the runbook as it is now, in place of an earlier one."""
    situation = situation_of(backfill, now)
    book = write_book(situation)
    backfill.folder.mkdir(parents=True, exist_ok=True)
    kept = KeptRunbook(situation, backfill.folder / "runbook.md", backfill.folder / "runbook.html")
    atomic_write(kept.markdown, render_markdown(book))
    atomic_write(kept.page, render_page(book))
    return kept


def situation_of(backfill: BackfillRun, now: datetime) -> Situation:
    reader, run = backfill.store.reader, backfill.run
    loaded = backfill.project_context.loaded
    contract = reader.documents(run.id).contract
    return Situation(
        run=run,
        context=loaded.context,
        contract_file=_contract_file(backfill, contract),
        contract=contract,
        plan=backfill.plan,
        journal=reader.journal(run.id),
        records=reader.audit(run_id=run.id),
        roles=loaded.settings.roles,
        needs_approval=loaded.settings.needs_approval,
        author_may_promote=loaded.settings.approval.author_may_promote,
        approvals=approvals_of(reader, run),
        standing=approval_of(backfill).status(now),
        at=now,
        staging={"Branch": staging_branch(run.id, run.epoch)},
        kept={"Tag before the promotion": before_tag(run.id), "Tag of the promotion": after_tag(run.id)},
        validation=_validation(backfill.folder / "validation.json"),
        evidence=_evidence(backfill),
    )


def _evidence(backfill: BackfillRun) -> tuple[Evidence, ...]:
    """The newest of each kind that is about this run. Whose cluster it is needs no telling: a context has one."""
    plan = backfill.plan
    about = (
        f"plan/{plan.hash}",
        f"contract/{plan.contract}",
        f"pipeline/{plan.pipeline}",
        f"table/{plan.target.table}",
        f"topic/{plan.source.uuid}",
    )
    found = []
    for kind in KINDS:
        kept = map(read_evidence, backfill.store.reader.audit(action=f"{ACTION}{kind}"))
        ours = [each for each in kept if each.subject in about or each.subject.startswith("cluster/")]
        found += ours[-1:]
    return tuple(found)


def _contract_file(backfill: BackfillRun, contract: Mapping[str, Any]) -> str:
    """By its name, as `anabranch init` does it; a contract that was moved since has to be found by people."""
    loaded = backfill.project_context.loaded
    usual = f"{loaded.project.spec.contracts}/{contract['metadata']['name']}.yaml"
    return usual if (loaded.folder / usual).is_file() else "CONTRACT"


def _validation(file: Path) -> Mapping[str, Any] | None:
    """The last report; None on another machine than the one that validated."""
    if not file.is_file():
        return None
    report: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return report
