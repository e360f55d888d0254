"""Ways to compile and run a CUDA source."""
