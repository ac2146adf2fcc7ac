"""Plain HTTP requests to addresses that a context names."""
