"""The story that `make demo` tells, with its proof."""
