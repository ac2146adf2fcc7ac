"""Query 1: every bid with its price in euros."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

EUROS_FOR_A_DOLLAR = "0.908"


def transform(bids: DataFrame) -> DataFrame:
    """One row for each bid. Decimals, so that the product is exact."""
    euros = F.col("price").cast("decimal(14,0)") * F.lit(EUROS_FOR_A_DOLLAR).cast("decimal(4,3)")
    return bids.select(
        "bid",
        "auction",
        "bidder",
        "price",
        euros.cast("decimal(18,3)").alias("price_eur"),
        F.col("_event_time").alias("bid_at"),
        "_partition",
        "_offset",
    )
