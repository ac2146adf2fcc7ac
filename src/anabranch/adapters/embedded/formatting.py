"""Gives a broker's empty data folder its identity, with Kafka's own tool."""

from __future__ import annotations

import base64
import subprocess
import uuid
from collections.abc import Mapping, Sequence

from anabranch.adapters.embedded.errors import FormatFailedError
from anabranch.adapters.embedded.layout import Layout
from anabranch.adapters.jvm.java import Java

TOOL_SECONDS = 120


def new_cluster_id() -> str:
    """A random id in Kafka's notation. Never with a leading dash, which tools take for an option."""
    while (text := base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")).startswith("-"):
        continue
    return text


def format_data(layout: Layout, cluster_id: str, nodes: Sequence[int], java: Java, env: Mapping[str, str]) -> None:
    """Format the folders of these brokers, side by side.

    The tool rather than a meta.properties of our own: it also writes the feature levels (transactions,
    the new group protocol), without which the same broker would behave like a much older one.
    """
    running = [(node, _start(layout, cluster_id, node, java, env)) for node in nodes]
    for node, tool in running:
        with tool:
            said, _ = tool.communicate(timeout=TOOL_SECONDS)
        if tool.returncode != 0:
            raise FormatFailedError(
                f"The data folder of broker {node} could not be formatted. Kafka's tool said:\n{said.strip()}",
                state="No broker was started, and no folder that held data was written to.",
                hint="mend what the tool complains of, then `anabranch dev up`",
                node=node,
            )


def _start(layout: Layout, cluster_id: str, node: int, java: Java, env: Mapping[str, str]) -> subprocess.Popen[str]:
    quick = ["-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData"]
    log = [f"-Danabranch.log=../logs/format-{node}.log", f"-Dlog4j2.configurationFile={layout.log4j.name}"]
    tool = ["kafka.tools.StorageTool", "format", "--cluster-id", cluster_id, "--config", layout.config(node).name]
    return subprocess.Popen(
        [str(java.executable), *quick, *log, *tool],
        cwd=layout.kafka,
        env=dict(env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
