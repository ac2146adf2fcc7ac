"""The sections of a context: where Kafka, Spark, the catalog, the database and the metrics are."""
