"""Tables by key: changes of a slice merged, and rolled back by rows."""
