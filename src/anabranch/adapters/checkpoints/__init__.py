"""Checkpoints of Structured Streaming: read, copied up to a batch, kept."""
