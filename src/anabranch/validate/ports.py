"""The ports of validation: one measures staging and base, the other stores the report."""

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

        `phase` is called with the name of each measurement.
        """


class ReportFiler(Protocol):
    def __call__(self, report: Report) -> object:
        """Write the report to the run's folder; atomically replaces an earlier one."""
