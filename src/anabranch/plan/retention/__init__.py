"""The race against retention: when the topic deletes what a replay still needs, and what is done about it."""
