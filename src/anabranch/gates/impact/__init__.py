"""What a replay does to live: blocks with and without it in random pairs, the effect and its interval. Pure."""
