"""Windowed pipelines: windows computed from all events, or by live's batches."""
