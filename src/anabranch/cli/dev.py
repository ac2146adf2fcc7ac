"""`anabranch dev`: start, show and stop the embedded stack of a project."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anabranch.cli.options import ProjectFolder
from anabranch.cli.output import Format, Output, emit, print_table, stderr
from anabranch.cli.progress import downloads, megabytes
from anabranch.errors import ExitCode
from anabranch.project.location import find_project_folder, state_folder

if TYPE_CHECKING:
    from rich.console import Console

    from anabranch.adapters.embedded.stack import EmbeddedKafka
    from anabranch.adapters.embedded.status import StackStatus
    from anabranch.adapters.iceberg.embedded import EmbeddedCatalog

dev = typer.Typer(
    name="dev",
    help="Run the embedded stack. Kafka and an Iceberg catalog in the project's .anabranch/.",
    no_args_is_help=True,
)


@dev.command()
def up(
    project: ProjectFolder = Path(),
    brokers: Annotated[
        int | None,
        typer.Option(
            "--brokers",
            min=1,
            max=9,
            help="Number of brokers, fixed by the first `up`.",
            show_default="as before, or 1",
        ),
    ] = None,
    new_ports: Annotated[bool, typer.Option("--new-ports", help="Choose new free ports.")] = False,
    output: Output = Format.TABLE,
) -> None:
    """Start the brokers and wait until they answer. Prints their addresses. Idempotent."""
    from anabranch.adapters.jvm.artifacts import ArtifactCache, locked

    with downloads(ArtifactCache().missing(locked("kafka"))) as progress:
        status = _kafka(project).up(brokers, new_ports=new_ports, progress=progress)
    catalog = _catalog(project)
    if not catalog.exists():
        catalog.create()
    _show(status, catalog, output)


@dev.command()
def status(project: ProjectFolder = Path(), output: Output = Format.TABLE) -> None:
    """Show the state of every broker. Exit code 0 if all are running, otherwise 1."""
    found = _kafka(project).status()
    _show(found, _catalog(project), output)
    if not found.all_running:
        raise typer.Exit(int(ExitCode.FAILED))


@dev.command()
def down(project: ProjectFolder = Path(), output: Output = Format.TABLE) -> None:
    """Stop every broker. Data and ports are kept for the next `up`."""
    _show(_kafka(project).down(), _catalog(project), output)


@dev.command()
def fetch(output: Output = Format.TABLE) -> None:
    """Download missing jars and compile the functions for Spark. No network is needed afterwards."""
    from anabranch.adapters.jvm.artifacts import ArtifactCache, bundles, locked
    from anabranch.adapters.jvm.java import find_java
    from anabranch.adapters.spark.native.functions import functions_jar

    cache = ArtifactCache()
    wanted = tuple(dict.fromkeys(artifact for bundle in bundles() for artifact in locked(bundle)))
    missing = cache.missing(wanted)
    with downloads(missing) as progress:
        cache.fetch(missing, progress)
    functions_jar(find_java(), cache.fetch(locked("spark")))
    size = sum(artifact.size for artifact in wanted)
    document = {"folder": str(cache.folder), "jars": len(wanted), "bytes": size, "fetched": len(missing)}
    emit(document, output, lambda console: console.print(f"All {len(wanted)} jars are present ({megabytes(size)})."))


@dev.command()
def sample(
    events: Annotated[int, typer.Option(min=1, help="Number of orders.")] = 100_000,
    project: ProjectFolder = Path(),
    output: Output = Format.TABLE,
) -> None:
    """Fill topic shop.orders with generated orders. Three days, out of order, some late, three invalid."""
    from anabranch.adapters.kafka.access import KafkaAccess
    from anabranch.demo.orders import TOPIC, make_topic, orders, send

    client = KafkaAccess(_kafka(project).bootstrap()).client("anabranch-sample")
    made = make_topic(client)
    sent = send(client, orders(events)) if made else 0
    message = f"Sent {sent:,} orders to {TOPIC}." if made else f"{TOPIC} exists already; nothing was sent."
    emit({"topic": TOPIC, "sent": sent}, output, lambda console: console.print(message, markup=False))


def _kafka(project: Path) -> EmbeddedKafka:
    from anabranch.adapters.embedded.stack import EmbeddedKafka

    console = stderr()
    return EmbeddedKafka(state_folder(find_project_folder(project)), say=console.print)


def _catalog(project: Path) -> EmbeddedCatalog:
    from anabranch.adapters.iceberg.embedded import EmbeddedCatalog

    return EmbeddedCatalog.below(state_folder(find_project_folder(project)))


def _show(status: StackStatus, catalog: EmbeddedCatalog, output: Format) -> None:
    document = {
        **status.as_dict(),
        "catalog": {
            "exists": catalog.exists(),
            "database": str(catalog.database),
            "warehouse": str(catalog.warehouse),
        },
    }

    def table(console: Console) -> None:
        _table(status, console)
        if catalog.exists():
            console.print(f"catalog {catalog.database}, warehouse {catalog.warehouse}", markup=False)

    emit(document, output, table)


def _table(status: StackStatus, console: Console) -> None:
    if not status.brokers:
        console.print("No stack yet. Create it: anabranch dev up")
        return
    from anabranch.adapters.embedded.status import BrokerState

    rows = []
    for broker in status.brokers:
        pid = "–" if broker.pid is None else str(broker.pid)
        uptime = "–" if broker.uptime_seconds is None else f"{broker.uptime_seconds:,.0f} s"
        data = megabytes(broker.data_bytes)
        rows.append((broker.node, broker.state.value, broker.bootstrap, pid, uptime, data))
    print_table(console, ("broker", "state", "bootstrap", "pid", "uptime", "data"), rows)
    for broker in status.brokers:
        match broker.state:
            case BrokerState.DIED:
                console.print(f"broker {broker.node} died: `anabranch dev up` restarts it; log: {broker.log}")
            case BrokerState.UNRESPONSIVE:
                console.print(
                    f"broker {broker.node} does not answer: restart it by `anabranch dev down` and "
                    f"`anabranch dev up`; log: {broker.log}"
                )
            case BrokerState.RUNNING | BrokerState.STOPPED:
                pass
