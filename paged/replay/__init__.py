"""Kernels on a recorded schedule: the calls that a run's batches make, and how each comes out."""
