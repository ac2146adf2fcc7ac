"""Systems outside: one folder each. Implements the rooms' ports; only `app`, `live`, `doctor` and `demo` import it."""
