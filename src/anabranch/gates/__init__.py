"""May it happen: evidence, one gate a file in `checks/`, the scorecard, approval. After `plan`, before `replay`."""
