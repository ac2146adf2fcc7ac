"""Which ways of replaying a pipeline's class allows, and how each plans its slices."""
