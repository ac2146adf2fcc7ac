"""Measures staging and base on Spark for validation's checks."""
