"""The user's transform: loaded, run with pinned clock and lookups, its errors attributed to lines."""
