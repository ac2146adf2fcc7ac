"""All that the gates look at: the backfill itself, a look at the world as it is now, and what was measured before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from anabranch.contract.backfill import Backfill
from anabranch.contract.pipeline import Pipeline
from anabranch.gates.evidence import Evidence
from anabranch.plan.drift import Drift
from anabranch.plan.plan import Plan
from anabranch.runs.audit import ChainVerdict


@dataclass(frozen=True)
class LiveReading:
    """How far live has come, as far as anybody can tell from outside."""

    lag: int | None
    """In offsets; None: nobody has said how far live is."""
    by: str | None
    """Who said so: `group`, the consumer group, or `table`, live's own commits."""
    refused: str | None = None
    """Why it could not be read, if it could not."""


@dataclass(frozen=True)
class ClosingReading:
    """Whether what was achieved can be put on record."""

    folder: str
    refused: str | None
    """Why no file could be written there."""
    free: int
    """Bytes left on that disk."""
    audit: ChainVerdict


@dataclass(frozen=True)
class MetricsReading:
    """What the context's metrics endpoint answered when the gates asked it."""

    url: str | None
    """None: the context names no port."""
    names: tuple[str, ...] = ()
    """Of the metrics looked for, those it serves."""
    missing: tuple[str, ...] = ()
    refused: str | None = None
    """Why it could not be read."""


@dataclass(frozen=True)
class GateFacts:
    now: datetime
    plan: Plan
    contract: Backfill
    pipeline: Pipeline
    drifts: tuple[Drift, ...]
    """What has changed since the plan, of what the run still needs."""
    live: LiveReading
    closing: ClosingReading
    residency: str | None
    """Where the target says that its data must stay; None: it does not say."""
    metrics: MetricsReading
    reaches: tuple[str, ...] | None
    """Imports and calls of the transform's code that may reach outside, as file:line name; None: it can't be read."""
    approvers: tuple[str, ...] | None = None
    """Who may approve; None: this context asks for no approval."""
    evidence: Mapping[str, Evidence] = field(default_factory=dict)
    """By kind, the newest of each that is about this very backfill."""
    run: str | None = None
    """None: there is only a contract yet."""

    @property
    def measure(self) -> str:
        """The command that measures what is missing or too old."""
        return "anabranch gates -f CONTRACT" if self.run is None else f"anabranch gates {self.run}"
