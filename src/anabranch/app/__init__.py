"""Builds the adapters of a project and calls the rooms with them. Decides nothing."""
