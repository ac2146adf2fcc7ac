"""Reads the sources of metrics of a project and serves them; `monitoring/` decides what a metric is."""
