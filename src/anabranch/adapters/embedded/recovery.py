"""Rebuilds the stack's memory from the data folders themselves, should the state file be lost."""

from __future__ import annotations

import re
from pathlib import Path

from anabranch.adapters.embedded import ports
from anabranch.adapters.embedded.errors import DATA_KEPT, StackStateUnreadableError
from anabranch.adapters.embedded.layout import Layout
from anabranch.adapters.embedded.state import Broker, Ports, Stack


def has_data(layout: Layout) -> bool:
    return any(layout.kafka.glob("broker-*/meta.properties"))


def recover(layout: Layout) -> Stack | None:
    """The stack that the data folders belong to, or None if there are none."""
    identities = [_properties(path) for path in layout.kafka.glob("broker-*/meta.properties")]
    if not identities:
        return None
    clusters = {identity.get("cluster.id", "") for identity in identities}
    if len(clusters) != 1 or "" in clusters:
        raise StackStateUnreadableError(
            f"The data folders below {layout.kafka} belong to different clusters.",
            state=DATA_KEPT,
            hint=f"keep the broker-N folders of one cluster below {layout.kafka} and move the others away",
            clusters=sorted(clusters),
        )
    nodes = sorted(int(identity["node.id"]) for identity in identities)
    remembered = [_ports(layout.config(node)) for node in nodes]
    known = [pair for pair in remembered if pair is not None]
    chosen = tuple(known) if len(known) == len(nodes) else ports.choose(len(nodes))
    return Stack(clusters.pop(), tuple(Broker(node, pair) for node, pair in zip(nodes, chosen, strict=True)))


def _ports(config: Path) -> Ports | None:
    """The ports in a broker's configuration, as we wrote it at its last start."""
    listeners = _properties(config).get("listeners", "") if config.is_file() else ""
    found = re.fullmatch(r"CLIENT://[^:]+:(\d+),CONTROLLER://[^:]+:(\d+)", listeners)
    return Ports(int(found[1]), int(found[2])) if found else None


def _properties(path: Path) -> dict[str, str]:
    return dict(re.findall(r"^([^#=\s]+)=(.*)$", path.read_text(encoding="latin-1"), re.MULTILINE))
