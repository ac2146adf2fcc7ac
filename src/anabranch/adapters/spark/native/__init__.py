"""Our Java classes inside Spark, compiled at first use."""
