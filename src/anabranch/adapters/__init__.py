"""Systems outside: one folder each. Implements the rooms' ports."""
