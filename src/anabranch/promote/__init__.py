"""Promotes an approved run in one commit and rolls it back in one. After `validate`."""
