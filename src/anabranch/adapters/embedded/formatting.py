"""Formats a broker's empty data folder with Kafka's storage tool."""

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
    """A random cluster id. Never starts with a dash, which command-line tools read as an option."""
    while (text := base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")).startswith("-"):
        continue
    return text


def format_data(layout: Layout, cluster_id: str, nodes: Sequence[int], java: Java, env: Mapping[str, str]) -> None:
    """Format the folders of these brokers in parallel. Raises FormatFailedError.

    The tool also writes the feature levels (transactions, the new group protocol), without which the broker would
    behave like an older version.
    """
    running = [(node, _start(layout, cluster_id, node, java, env)) for node in nodes]
    for node, tool in running:
        with tool:
            output, _ = tool.communicate(timeout=TOOL_SECONDS)
        if tool.returncode != 0:
            raise FormatFailedError(
                f"Formatting the data folder of broker {node} failed. Output of Kafka's storage "
                f"tool:\n{output.strip()}",
                state="No broker was started. Folders with data were not changed.",
                command="anabranch dev up",
                hint="Fix the error that the tool reports, then start the brokers",
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
