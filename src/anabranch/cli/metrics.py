"""`anabranch metrics`: serve the project's metrics to Prometheus, print them once, print alert rules and dashboard."""

from __future__ import annotations

import ipaddress
import signal
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Annotated

import typer

from anabranch.cli.options import ContextName, ProjectFolder
from anabranch.cli.output import Format, Output, emit, say

if TYPE_CHECKING:
    from anabranch.app.metrics.collector import ProjectCollector
    from anabranch.app.project_context import ProjectContext

metrics = typer.Typer(
    name="metrics", help="Metrics of runs, live and tables for Prometheus and Grafana.", no_args_is_help=True
)

DEFAULT_PORT = 9464


def _address(text: str | None) -> str | None:
    if text is None:
        return None
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not an IP address, such as 127.0.0.1 or 0.0.0.0") from None


@metrics.command()
def serve(
    host: Annotated[
        str | None,
        typer.Option(help="Address to listen on.", callback=_address, show_default="metrics.bind, or 127.0.0.1"),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(min=0, max=65535, help="Port; 0 for a free one.", show_default="metrics.port, or 9464"),
    ] = None,
    project: ProjectFolder = Path(),
    context: ContextName = None,
    output: Output = Format.TABLE,
) -> None:
    """Serve the metrics at /metrics until stopped. Reads the control database, Kafka and the tables; changes nothing.

    One process serves all runs and pipelines of the project. Without --host only this machine can read it; it has
    no login, and shows names of pipelines, tables and runs.
    """
    from anabranch.app.metrics.server import serving
    from anabranch.app.project_context import open_project

    stop = Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    project_context = open_project(project, context)
    settings = project_context.loaded.settings.metrics
    wanted = settings.port or DEFAULT_PORT if port is None else port
    with serving(_collector(project_context), host or settings.bind, wanted) as url:
        emit({"url": url}, output, lambda console: console.print(f"Serving metrics at {url}", markup=False))
        stop.wait()


@metrics.command()
def show(project: ProjectFolder = Path(), context: ContextName = None, output: Output = Format.TABLE) -> None:
    """Print the metrics once, in Prometheus' text format. A rate needs two readings and is left out."""
    from anabranch.app.metrics.server import documents, exposition
    from anabranch.app.project_context import open_project

    collector = _collector(open_project(project, context))
    if output is Format.TABLE:
        typer.echo(exposition(collector), nl=False)
    else:
        emit(documents(collector), output, lambda _: None)


@metrics.command()
def rules(output: Output = Format.TABLE) -> None:
    """Print the alert rules for Prometheus, a file for `rule_files`."""
    from anabranch.monitoring.files import RULES, read_file

    text = read_file(RULES)
    if output is Format.JSON:
        from ruamel.yaml import YAML

        emit(YAML(typ="safe", pure=True).load(text), output, lambda _: None)
    else:
        typer.echo(text, nl=False)


@metrics.command()
def dashboard(output: Output = Format.TABLE) -> None:
    """Print the Grafana dashboard, JSON to import or provision."""
    import json

    from anabranch.monitoring.files import DASHBOARD, read_file

    text = read_file(DASHBOARD)
    if output is Format.YAML:
        emit(json.loads(text), output, lambda _: None)
    else:
        typer.echo(text, nl=False)


def _collector(project_context: ProjectContext) -> ProjectCollector:
    from anabranch.app.metrics.collector import ProjectCollector
    from anabranch.live.progress import quarantined

    return ProjectCollector(project_context, lambda name: quarantined(project_context.state, name), say)
