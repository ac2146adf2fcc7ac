"""Adapters to external systems, one folder each. They implement the rooms' ports."""
