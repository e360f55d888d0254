"""Microbenchmarks of the allocator and scheduler, beside vLLM's own."""
