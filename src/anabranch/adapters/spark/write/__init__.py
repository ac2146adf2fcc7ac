"""Commits rows and ledger of a slice to staging."""
