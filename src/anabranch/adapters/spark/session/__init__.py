"""Starting Spark, and explaining why its JVM died."""
