"""Options passed through to Kafka, Spark and the catalog: what is allowed, and why the rest is not."""
