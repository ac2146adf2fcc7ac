"""Who approved what, whether that is still valid, and who may do what."""
