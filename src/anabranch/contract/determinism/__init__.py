"""Finds calls in a transform whose result differs from run to run: clocks, randomness, tables read."""
