"""Rows and ledger of a slice into staging, in one commit."""
