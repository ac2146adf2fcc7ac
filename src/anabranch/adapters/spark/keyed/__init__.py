"""Keyed tables: merges the changes of a slice, and rolls back by rows."""
