"""Joins an approved run into production by one commit, and rolls it back by one. After `validate`."""
