"""The memory of a run: its states, lease, journal and audit trail, and who may read or write them."""
