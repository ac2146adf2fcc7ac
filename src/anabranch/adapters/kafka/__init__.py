"""Kafka: topics, offsets, groups, ACLs, quotas, the log's record batches. Joins no group, commits no offset."""
