"""What validation asks of the world outside: staging and base measured, and the report filed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from anabranch.replay.staging import Staging
from anabranch.validate.attribution import ControlStaging
from anabranch.validate.measures import Measures
from anabranch.validate.report import Report


class StagingMeasurer(Protocol):
    def __call__(self, staging: Staging, control: ControlStaging | None, phase: Callable[[str], None]) -> Measures:
        """Measure staging against the base, and against the control's rows if there are any. Changes nothing.

        `phase` is told what is being measured.
        """


class ReportFiler(Protocol):
    def __call__(self, report: Report) -> object:
        """Write the report where people find it; an earlier one of the run is replaced, whole or not at all."""
