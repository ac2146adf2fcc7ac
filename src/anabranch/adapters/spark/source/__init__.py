"""Records of a slice from Kafka, read at explicit offsets and at a limited rate."""
