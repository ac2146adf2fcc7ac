"""What was asked: pipelines, backfill contracts and price books, loaded and checked. Before `plan`."""
