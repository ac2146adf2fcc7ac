"""Options passed through to Kafka, Spark and the catalog: the allowlists, and why other options are refused."""
