"""Records to events by the declared schema; what can't be decoded, with the reason."""
