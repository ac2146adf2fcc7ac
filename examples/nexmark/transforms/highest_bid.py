"""Query 7: the highest bid of every ten minutes, with its auction and bidder."""

from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def transform(bids: DataFrame, run: Any) -> DataFrame:
    """One row for each window. Of equal prices the higher auction wins: the same one live and in every replay."""
    highest = F.max(F.struct("price", "auction", "bidder"))  # compared field by field, so the price comes first
    return (
        bids.groupBy(run.window)
        .agg(highest.alias("highest"))
        .select(
            F.col("_window.start").alias("window_start"),
            F.col("_window.end").alias("window_end"),
            F.col("highest.auction").alias("auction"),
            F.col("highest.bidder").alias("bidder"),
            F.col("highest.price").alias("price"),
            "_window",
        )
    )
