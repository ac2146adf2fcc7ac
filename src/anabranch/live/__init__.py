"""Our own live pipeline on Structured Streaming."""
