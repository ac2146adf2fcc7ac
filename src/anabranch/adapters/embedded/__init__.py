"""The embedded Kafka broker of a project: started, found again, stopped."""
