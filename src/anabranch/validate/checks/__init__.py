"""The checks of a validation, one a file. Pure."""
