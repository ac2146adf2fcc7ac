"""From event time to offsets per partition, with the proof that they are all."""
