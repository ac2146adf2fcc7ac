"""One scene for each kind of target."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.conformance.target.kinds import KINDS
from tests.conformance.target.scene import Scene

from anabranch.adapters.sql.store import open_store


@pytest.fixture(params=KINDS)
def scene(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Scene]:
    """A validated run; production is at the plan's base."""
    kind = KINDS[request.param](tmp_path / ".anabranch")
    scene = Scene(kind, open_store(f"sqlite:///{tmp_path / 'anabranch.db'}"))
    scene.submit_validated()
    yield scene
    scene.store.close()
    kind.close()
