"""What a stream that reads the target does when a promotion or a rollback is committed: as the target declares."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import StreamingQueryException
from tests.conformance.target.iceberg import CATALOG, TABLE, IcebergKind
from tests.conformance.target.scene import Scene
from tests.fixtures.spark import SparkForTests

from anabranch.promote.capabilities import StreamingReaders

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.long, pytest.mark.timeout(300)]
SKIP = {"streaming-skip-overwrite-snapshots": "true"}
"""The option by which a reader goes on."""


@dataclass
class Reader:
    """A stream of the table that is started again and again, with one checkpoint."""

    session: SparkSession
    folder: Path

    def read(self, **options: str) -> int:
        """Read what there is now. Returns how many rows the stream has read in all."""
        rows = self.session.readStream.options(**options).table(f"{CATALOG}.{TABLE}")
        sink = rows.writeStream.format("parquet").option("path", str(self.folder / "rows"))
        query = sink.option("checkpointLocation", str(self.folder / "checkpoint")).trigger(availableNow=True).start()
        query.awaitTermination()
        return self.session.read.parquet(str(self.folder / "rows")).count()


@pytest.fixture
def reader(scene: Scene, spark: SparkForTests, tmp_path: Path) -> Reader:
    assert isinstance(scene.kind, IcebergKind), "another target reads its stream here"
    session = spark.session.newSession()
    for name, value in scene.kind.embedded.catalog(CATALOG).spark_options().items():
        session.conf.set(name, value)
    return Reader(session, tmp_path / "reader")


def test_a_streaming_reader_stops_at_a_promotion_and_at_a_rollback_or_skips_them(scene: Scene, reader: Reader) -> None:
    kind = scene.kind
    assert kind.target().capabilities.streaming_readers is StreamingReaders.STOP, "another target asserts here"
    assert reader.read() == kind.former.total()
    scene.promote()
    with pytest.raises(StreamingQueryException, match="Cannot process overwrite snapshot"):
        reader.read()
    assert reader.read(**SKIP) == kind.former.total(), "it never reads the promoted rows"
    live = kind.live(code=kind.own_code)
    assert reader.read(**SKIP) == kind.former.total() + live.total(), "and reads what live commits after it"
    scene.roll_back()
    with pytest.raises(StreamingQueryException, match="Cannot process overwrite snapshot"):
        reader.read()
    assert reader.read(**SKIP) == kind.former.total() + live.total()
