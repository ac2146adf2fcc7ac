"""Backfill-safe reprocessing for Kafka pipelines."""

__version__ = "0.1.0"
