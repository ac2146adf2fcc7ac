"""The gates, one a file. Each judges facts and returns a colour, the reason and what turns it green. Pure."""
