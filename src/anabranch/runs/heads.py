"""What a room knows of a target's versions: a name to compare and to show, which only the target's adapter reads."""

from __future__ import annotations

from typing import NewType

Head = NewType("Head", str)
"""One version of a target: a snapshot id, a log version, offsets by partition. Equal texts name the same version;
nothing else may be concluded from them, neither their order nor that they are numbers."""
