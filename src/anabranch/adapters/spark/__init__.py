"""Spark: reads slices, decodes, transforms, writes and measures. One folder for each of these."""
