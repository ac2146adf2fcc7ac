"""Checkpoints of Structured Streaming: read, copied as of a batch, stored."""
