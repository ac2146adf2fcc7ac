"""What will happen: offsets, slices, steps, estimates; made with no side effect, frozen and hashed. Before `gates`."""
