"""How long it takes, what it costs, what to be warned of."""
