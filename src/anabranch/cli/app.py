"""The command tree: one file per command. Heavy imports are inside the commands, so that `--help` answers at once."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from anabranch import __version__
from anabranch.cli.current_command import note_command

app = typer.Typer(
    name="anabranch",
    help="Backfill-safe reprocessing for Kafka pipelines.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def debugging() -> bool:
    """Whether tracebacks are shown: `--debug` or ANABRANCH_DEBUG=1."""
    return os.environ.get("ANABRANCH_DEBUG", "") not in ("", "0")


def _version(requested: bool) -> None:
    if requested:
        typer.echo(f"anabranch {__version__}")
        raise typer.Exit


@app.callback()
def anabranch(
    invoked: typer.Context,
    _show_version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks instead of short errors.")] = False,
) -> None:
    """Replay Kafka history beside production, validate it, and promote it in one atomic commit."""
    note_command(invoked.invoked_subcommand or "")
    if debug:
        os.environ["ANABRANCH_DEBUG"] = "1"


from anabranch.cli.dev import dev  # noqa: E402

app.add_typer(dev)

from anabranch.cli.check import check  # noqa: E402
from anabranch.cli.init import init  # noqa: E402
from anabranch.cli.schema import schema  # noqa: E402

app.command()(init)
app.command()(check)
app.command()(schema)

from anabranch.cli.audit import audit  # noqa: E402
from anabranch.cli.doctor import doctor  # noqa: E402

app.command()(doctor)
app.add_typer(audit)

from anabranch.cli.metrics import metrics  # noqa: E402

app.add_typer(metrics)

from anabranch.cli.plan import plan  # noqa: E402

app.command()(plan)

from anabranch.cli.apply import apply, retry, validate  # noqa: E402
from anabranch.cli.control import cancel, pause, resume, throttle  # noqa: E402
from anabranch.cli.promote import close, promote, rollback  # noqa: E402
from anabranch.cli.runs import describe, list_runs, log, status  # noqa: E402

for command in (
    apply,
    validate,
    promote,
    rollback,
    close,
    pause,
    resume,
    cancel,
    retry,
    throttle,
    status,
    describe,
    log,
):
    app.command()(command)
app.command("list")(list_runs)

from anabranch.cli.approve import approve  # noqa: E402
from anabranch.cli.revoke import revoke  # noqa: E402
from anabranch.cli.runbook import runbook  # noqa: E402

app.command()(approve)
app.command()(revoke)
app.command()(runbook)

from anabranch.cli.gates import gates  # noqa: E402

app.add_typer(gates)

from anabranch.cli.cost import cost  # noqa: E402
from anabranch.cli.impact import impact  # noqa: E402
from anabranch.cli.rehearse import rehearse  # noqa: E402

app.command()(rehearse)
app.command()(cost)
app.command()(impact)

from anabranch.cli.keep import keep  # noqa: E402
from anabranch.cli.live import live  # noqa: E402

live.command()(keep)
app.add_typer(live)

from anabranch.cli.zones import zones  # noqa: E402

app.add_typer(zones)

from anabranch.cli.quotas import quotas  # noqa: E402

app.add_typer(quotas)

from anabranch.cli.checkpoints import checkpoints  # noqa: E402

app.command()(checkpoints)

from anabranch.cli.advise import advise  # noqa: E402
from anabranch.cli.drill import drill  # noqa: E402
from anabranch.cli.retention import retention  # noqa: E402

app.command()(advise)
app.add_typer(retention)
app.add_typer(drill)

from anabranch.cli.queue import queue  # noqa: E402

app.add_typer(queue)

from anabranch.cli.demo import demo  # noqa: E402

app.command()(demo)
