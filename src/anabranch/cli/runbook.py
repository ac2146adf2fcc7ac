"""`anabranch runbook`: one page about a run, for everyone who may have to act on it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from anabranch.cli.options import ContextName, ProjectFolder, RunId, open_run
from anabranch.cli.output import Format, Output, emit

if TYPE_CHECKING:
    from rich.console import Console


def runbook(
    run: RunId, project: ProjectFolder = Path(), context: ContextName = None, output: Output = Format.TABLE
) -> None:
    """Write the runbook of a run as Markdown and HTML. It has contract, state, commands, and who may run them."""
    from datetime import datetime, timezone

    from anabranch.app.runbook import keep_runbook

    with open_run(run, project, context) as backfill:
        written = keep_runbook(backfill, datetime.now(timezone.utc))
    document = {
        "run": written.situation.run.id,
        "state": written.situation.run.state.value,
        "markdown": str(written.markdown),
        "page": str(written.page),
    }

    def table(console: Console) -> None:
        console.print(f"page      {written.page}", markup=False)
        console.print(f"markdown  {written.markdown}", markup=False)

    emit(document, output, table)
