"""`anabranch dev`: the embedded stack of a project, up, looked at, and down again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anabranch.cli.output import Format, Output, emit, stderr
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
    help="The embedded stack: a real Kafka and an Iceberg catalog below the project's .anabranch/.",
    no_args_is_help=True,
)

Project = Annotated[
    Path,
    typer.Option(
        "--project",
        exists=True,
        file_okay=False,
        help="A folder in the project (default: here; the nearest anabranch.yaml upwards counts).",
        show_default=False,
    ),
]


@dev.command()
def up(
    project: Project = Path(),
    brokers: Annotated[
        int | None,
        typer.Option(
            "--brokers", min=1, max=9, help="How many, fixed by the first `up`.", show_default="as before, or 1"
        ),
    ] = None,
    new_ports: Annotated[
        bool, typer.Option("--new-ports", help="Choose other free ports than the remembered ones.")
    ] = False,
    output: Output = Format.TABLE,
) -> None:
    """Start what is not running, wait until every broker answers, and print where. Again is no change."""
    from anabranch.adapters.jvm.artifacts import ArtifactCache, locked

    with downloads(ArtifactCache().missing(locked("kafka"))) as progress:
        status = _kafka(project).up(brokers, new_ports=new_ports, progress=progress)
    catalog = _catalog(project)
    if not catalog.exists():
        catalog.create()
    _show(status, catalog, output)


@dev.command()
def status(project: Project = Path(), output: Output = Format.TABLE) -> None:
    """Say how every broker is. Exit code 0 if all are running, 1 if any is stopped, died or unresponsive."""
    found = _kafka(project).status()
    _show(found, _catalog(project), output)
    if not found.all_running:
        raise typer.Exit(int(ExitCode.FAILED))


@dev.command()
def down(project: Project = Path(), output: Output = Format.TABLE) -> None:
    """Stop every broker and leave no process behind. Data and ports are kept for the next `up`."""
    _show(_kafka(project).down(), _catalog(project), output)


@dev.command()
def fetch(output: Output = Format.TABLE) -> None:
    """Download the locked jars that are missing, and compile our functions for Spark; then no network is needed."""
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
    emit(document, output, lambda console: console.print(f"all {len(wanted)} jars are here ({megabytes(size)})"))


@dev.command()
def sample(
    events: Annotated[int, typer.Option(min=1, help="How many orders.")] = 100_000,
    project: Project = Path(),
    output: Output = Format.TABLE,
) -> None:
    """Fill the sample topic shop.orders with three days of made-up orders: out of order, some late, three broken."""
    from anabranch.adapters.kafka.access import KafkaAccess
    from anabranch.demo.orders import TOPIC, make_topic, orders, send

    client = KafkaAccess(_kafka(project).bootstrap()).client("anabranch-sample")
    made = make_topic(client)
    sent = send(client, orders(events)) if made else 0
    says = f"{sent:,} orders are in {TOPIC}." if made else f"{TOPIC} is there already; nothing was sent."
    emit({"topic": TOPIC, "sent": sent}, output, lambda console: console.print(says, markup=False))


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
        console.print("no stack here yet: `anabranch dev up` makes one")
        return
    from rich.table import Table

    from anabranch.adapters.embedded.status import BrokerState

    table = Table(box=None, pad_edge=False)
    for title in ("BROKER", "STATE", "BOOTSTRAP", "PID", "UPTIME", "DATA"):
        table.add_column(title, no_wrap=True)
    for broker in status.brokers:
        pid = "–" if broker.pid is None else str(broker.pid)
        uptime = "–" if broker.uptime_seconds is None else f"{broker.uptime_seconds:,.0f} s"
        data = megabytes(broker.data_bytes)
        table.add_row(str(broker.node), broker.state.value, broker.bootstrap, pid, uptime, data)
    console.print(table)
    for broker in status.brokers:
        match broker.state:
            case BrokerState.DIED:
                console.print(f"broker {broker.node} died: `anabranch dev up` brings it back; its log is {broker.log}")
            case BrokerState.UNRESPONSIVE:
                console.print(
                    f"broker {broker.node} does not answer: if it stays so, `anabranch dev down` and "
                    f"`anabranch dev up`; its log is {broker.log}"
                )
            case BrokerState.RUNNING | BrokerState.STOPPED:
                pass
