"""Ends a run: the closure record, the isolation certificate, staging removed. After `promote`."""
