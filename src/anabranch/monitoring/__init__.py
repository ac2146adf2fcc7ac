"""Metrics of runs and of live, from what was read of their sources; the alert rules and the dashboard. Pure."""
