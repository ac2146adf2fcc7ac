"""What a room knows of a target's versions and their parts: names to compare and to show, which only adapters read."""

from __future__ import annotations

from typing import NewType

Head = NewType("Head", str)
"""One version of a target: a snapshot id, a log version, offsets by partition. Equal texts name the same version;
nothing else may be concluded from them, neither their order nor that they are numbers."""

Piece = NewType("Piece", str)
"""What a commit adds to a target or removes: a data file, a transaction's rows, a span of offsets. Equal texts name the
same piece."""
