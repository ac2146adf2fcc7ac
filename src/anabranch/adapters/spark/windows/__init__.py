"""Windowed pipelines: windows computed whole, or as the live stream did."""
