"""`anabranch cost`: the estimated cost of a contract, or the cost of a run so far, by meter."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anabranch.cli.options import ContextName, OptionalContractFile, OptionalRunId, ProjectFolder
from anabranch.cli.output import Format, Output, emit, print_table, say, say_next

if TYPE_CHECKING:
    from rich.console import Console

    from anabranch.plan.forecast.cost import Bill


def cost(
    run: OptionalRunId = None,
    file: OptionalContractFile = None,
    book: Annotated[bool, typer.Option("--book", help="Print the price book instead.")] = False,
    project: ProjectFolder = Path(),
    context: ContextName = None,
    output: Output = Format.TABLE,
) -> None:
    """Estimate the cost of a contract, or compute that of a run. By the price book; starts no JVM.

    An estimate is recorded: the cost gate and the closure record compare with it.
    """
    if [run is not None, file is not None, book].count(True) != 1:
        raise typer.BadParameter("give a run, or a contract with -f, or --book")
    if run is not None:
        _of_run(run, project, context, output)
    elif file is not None:
        _of_contract(file, project, context, output)
    else:
        _book(project, context, output)


def _of_contract(file: Path, project: Path, context: str | None, output: Format) -> None:
    from datetime import datetime, timezone

    from anabranch.app.backfill import operator
    from anabranch.app.cost import keep_estimate
    from anabranch.app.planning import plan_backfill
    from anabranch.app.project_context import open_project

    project_context, now = open_project(project, context), datetime.now(timezone.utc)
    planned = plan_backfill(project_context, file, now=now)
    budget = planned.request.backfill.spec.budget
    limit = None if budget is None else budget.cost
    with project_context.store() as store:
        found, _ = keep_estimate(project_context, store, planned, by=operator()[1], now=now)
    document = {"plan": planned.plan.hash, "estimate": found.document(), "budget": limit}
    emit(document, output, lambda console: _table(console, found.bill, "estimated", limit))
    say_alerts(found.bill)
    say(f"basis     {found.rests_on}")
    if found.rests_on != "a rehearsal":
        say_next(f"anabranch rehearse -f {file}")


def _of_run(run: str, project: Path, context: str | None, output: Format) -> None:
    from anabranch.app.cost import cost_record, spent
    from anabranch.cli.options import open_run

    with open_run(run, project, context) as backfill:
        reader, plan = backfill.store.reader, backfill.plan
        budget = backfill.contract.spec.budget
        limit = None if budget is None else budget.cost
        bill = spent(backfill.project_context, reader, plan, backfill.run_id)
        document = {
            "run": backfill.run_id,
            **cost_record(backfill.project_context, reader, plan, backfill.run_id, backfill.contract),
        }
    before: Any = document["estimate"]

    def table(console: Console) -> None:
        _table(console, bill, "so far", limit)
        if before is not None:
            console.print(f"estimated {before['amount']:,.4f} {before['currency']}", markup=False)

    emit(document, output, table)
    say_alerts(bill)


def _book(project: Path, context: str | None, output: Format) -> None:
    from anabranch.app.project_context import open_project
    from anabranch.cli.output import as_yaml
    from anabranch.contract.price_book import load_price_book
    from anabranch.project.model import as_plain

    document = as_plain(load_price_book(open_project(project, context).loaded))
    emit(document, output, lambda console: console.print(as_yaml(document), markup=False, end=""))


def say_alerts(bill: Bill) -> None:
    """Every meter above its threshold, with its owner."""
    from anabranch.plan.forecast.cost import alert_words

    for words in alert_words(bill.alerts, bill.currency):
        say(f"alert     {words}")


def _table(console: Console, bill: Bill, title: str, budget: float | None) -> None:
    rows = []
    for line in bill.lines:
        amounts = (f"{line.price:,.4f}", f"{line.amount:,.4f}", f"{line.threshold:,.2f}")
        rows.append((line.meter, f"{line.quantity:,.4f}", line.unit, *amounts, line.owner))
    print_table(console, ("meter", "quantity", "unit", "price", "amount", "alert above", "owner"), rows)
    limit = "no budget in the contract" if budget is None else f"budget {budget:,.2f}"
    console.print(f"{title} {bill.amount:,.4f} {bill.currency}; {limit}; prices: {bill.book}", markup=False)
