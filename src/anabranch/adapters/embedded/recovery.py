"""Rebuilds the stack's state from the data folders if the state file is missing."""

from __future__ import annotations

import re
from pathlib import Path

from anabranch.adapters.embedded import ports
from anabranch.adapters.embedded.errors import DATA_UNCHANGED, StackStateUnreadableError
from anabranch.adapters.embedded.layout import Layout
from anabranch.adapters.embedded.state import Broker, Ports, Stack


def has_data(layout: Layout) -> bool:
    return any(layout.kafka.glob("broker-*/meta.properties"))


def recover(layout: Layout) -> Stack | None:
    """The stack of the data folders, or None if there are none. Raises StackStateUnreadableError."""
    identities = [_properties(path) for path in layout.kafka.glob("broker-*/meta.properties")]
    if not identities:
        return None
    clusters = {identity.get("cluster.id", "") for identity in identities}
    if len(clusters) != 1 or "" in clusters:
        raise StackStateUnreadableError(
            f"Data folders in {layout.kafka} belong to different clusters.",
            state=DATA_UNCHANGED,
            hint=f"Keep the broker-N folders of one cluster in {layout.kafka} and move the others away",
            clusters=sorted(clusters),
        )
    nodes = sorted(int(identity["node.id"]) for identity in identities)
    configured = [_ports(layout.config(node)) for node in nodes]
    known = [pair for pair in configured if pair is not None]
    chosen = tuple(known) if len(known) == len(nodes) else ports.choose(len(nodes))
    return Stack(clusters.pop(), tuple(Broker(node, pair) for node, pair in zip(nodes, chosen, strict=True)))


def _ports(config: Path) -> Ports | None:
    """The ports in a broker's configuration file, written at its last start."""
    listeners = _properties(config).get("listeners", "") if config.is_file() else ""
    found = re.fullmatch(r"CLIENT://[^:]+:(\d+),CONTROLLER://[^:]+:(\d+)", listeners)
    return Ports(int(found[1]), int(found[2])) if found else None


def _properties(path: Path) -> dict[str, str]:
    return dict(re.findall(r"^([^#=\s]+)=(.*)$", path.read_text(encoding="latin-1"), re.MULTILINE))
