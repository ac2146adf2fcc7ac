"""Anabranch's Java classes in Spark, compiled at first use."""
