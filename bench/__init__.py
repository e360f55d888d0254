"""Microbenchmarks of allocator, scheduler and kernels, beside peers."""
