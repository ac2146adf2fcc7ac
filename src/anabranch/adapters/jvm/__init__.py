"""Java and the Maven artifacts that Spark and the broker need."""
