"""The registry of slice writers. A new one adds a line here, and the suite holds it to what all others are held to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from tests.conformance.classes.kinds import ORDERED, STATELESS, UPSERT, WINDOWED, Kind

from anabranch.adapters.spark.native.append_writer import NativeAppendWriter
from anabranch.adapters.spark.write.factory import compose_slice_writer
from anabranch.adapters.spark.write.job import SliceJob
from anabranch.adapters.spark.write.slice_writer import SparkSliceWriter
from anabranch.replay.replayer import SliceWriter


@dataclass(frozen=True)
class WriterCase:
    name: str
    kind: Kind
    """The pipeline whose slices it writes. Writers of one kind must agree with each other in rows and ledger."""
    compose: Callable[[SliceJob], SliceWriter]
    made: type[SliceWriter]
    """What `compose` must give, so that no case tests another writer than it names."""


NATIVE = partial(compose_slice_writer, native=True)
PLAIN = partial(compose_slice_writer, native=False)

WRITERS = (
    WriterCase("native", STATELESS, NATIVE, NativeAppendWriter),
    WriterCase("plain", STATELESS, PLAIN, SparkSliceWriter),
)
"""In the default suite."""
LONG = (
    WriterCase("windows", WINDOWED, NATIVE, SparkSliceWriter),
    WriterCase("windows-plain-decoder", WINDOWED, PLAIN, SparkSliceWriter),
    WriterCase("upsert", UPSERT, NATIVE, SparkSliceWriter),
    WriterCase("upsert-plain-decoder", UPSERT, PLAIN, SparkSliceWriter),
    WriterCase("ordered", ORDERED, NATIVE, SparkSliceWriter),
    WriterCase("ordered-plain-decoder", ORDERED, PLAIN, SparkSliceWriter),
)
"""Whose scenes take 10 s and more to build."""
