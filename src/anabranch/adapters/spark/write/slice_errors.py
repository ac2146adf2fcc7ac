"""Errors of a slice: those of Spark, Kafka and the table get the slice's id, those of the transform their line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from anabranch.adapters.spark.source.driver_reader import DriverReadError
from anabranch.adapters.spark.transform.errors import TransformFailedError
from anabranch.adapters.spark.transform.load import LoadedTransform
from anabranch.errors import AnabranchError
from anabranch.plan.slices import Slice
from anabranch.replay.ledger import UNSTAGED


class SliceFailedError(AnabranchError):
    code = "replay.slice-failed"


@dataclass(frozen=True)
class SliceErrors:
    transform: LoadedTransform
    run_id: str
    control: bool

    @contextmanager
    def attributed(self, slice_: Slice) -> Iterator[None]:
        """Raise TransformFailedError for errors of the user's transform, SliceFailedError for others of Spark."""
        try:
            with self.transform.attribute_transform_errors():
                yield
        except TransformFailedError as error:
            # Live continues after a fix; a plan is bound to one version of the code.
            fix = "plan again without a control" if self.control else "fix that line, plan again with the fixed code"
            raise TransformFailedError(
                f"In the control's code {self.transform.digest[:12]}: {error.what}" if self.control else error.what,
                state=UNSTAGED,
                command=f"anabranch cancel {self.run_id}",
                hint=f"cancel the run, then {fix}",
                slice=slice_.id,
                **dict[str, Any](error.fields),
            ) from error.__cause__
        except (PySparkException, Py4JError, DriverReadError) as error:
            raise SliceFailedError(
                f"Slice {slice_.id} could not be replayed.",
                state=UNSTAGED,
                command=f"anabranch retry {self.run_id}",
                slice=slice_.id,
            ) from error
